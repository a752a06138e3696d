//! The list of groups in `Groups` (and `Curves`), as `SSL_CTX_set1_groups_list` reads it.

use std::fmt;

/// The syntax of a list of groups; see [`Release::group_syntax`](crate::Release::group_syntax).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupSyntax {
    /// 3.0 to 3.2: names between colons. A name that occurs twice makes the list invalid.
    Names,
    /// 3.3 and 3.4: a `?` before a name permits that the group is unknown.
    Optional,
    /// From 3.5 on: a client sends a key share for a group with `*` before its name. `-` removes
    /// the group, `/` begins the next tuple, and `DEFAULT` stands for the built-in list. Names are
    /// not case-sensitive.
    Tuples,
}

/// One element of a list of groups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The name without its marks.
    pub name: String,
    /// `?`: the group is ignored if no provider has it.
    pub optional: bool,
    /// `*`: a client sends a key share for the group.
    pub key_share: bool,
    /// `-`: removes the group from the elements before this one.
    pub remove: bool,
    /// True if the name stands for a built-in list: `DEFAULT` or `DEFAULT_SUITE_B`.
    pub built_in_list: bool,
    /// The number of the element's tuple, from 0.
    pub tuple: usize,
}

/// The error in a list of groups that OpenSSL refuses completely, whether or not its groups exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupListError {
    /// The wrong element as written, without surrounding blanks.
    pub element: String,
    /// Its number in the list, from 1.
    pub position: usize,
    /// The error.
    pub wrong: GroupWrong,
}

/// The kind of error in an element of a list of groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupWrong {
    /// There is nothing between two separators.
    Empty,
    /// The element has marks but no name.
    MarksOnly,
    /// The same mark occurs twice.
    MarkTwice(char),
    /// The name is longer than 63 bytes.
    TooLong,
    /// This release takes a mark, separator or list for (a part of) a name. The second field is the
    /// first release that supports it.
    Needs(&'static str, &'static str),
    /// A name occurs for the second time in a release that refuses this.
    Twice,
    /// A mark stands before `DEFAULT`, or `?` or `-` before `DEFAULT_SUITE_B`.
    MarkedList,
    /// The list marks more key shares than a client sends.
    TooManyKeyShares,
}

/// The longest name of a group, in bytes.
const NAME_LIMIT: usize = 63;
/// The maximum number of key shares that a client sends.
const KEY_SHARES: usize = 4;

impl fmt::Display for GroupListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { element, position, wrong } = self;
        match wrong {
            GroupWrong::Empty => {
                return write!(
                    f,
                    "element {position} of the groups is empty; write one name between two separators"
                );
            }
            _ => write!(f, "element {position} of the groups, {element:?}: ")?,
        }
        match wrong {
            GroupWrong::Empty => Ok(()),
            GroupWrong::MarksOnly => write!(f, "a name must follow the marks"),
            GroupWrong::MarkTwice(mark) => write!(f, "write {mark} once"),
            GroupWrong::TooLong => write!(f, "a name has at most {NAME_LIMIT} bytes"),
            GroupWrong::Needs(mark, release) => {
                write!(
                    f,
                    "{mark} needs OpenSSL {release}; write bare names with colons between them"
                )
            }
            GroupWrong::Twice => write!(f, "before OpenSSL 3.3 each group may be named once"),
            GroupWrong::MarkedList => write!(f, "a built-in list takes no marks; remove them"),
            GroupWrong::TooManyKeyShares => write!(f, "mark at most {KEY_SHARES} groups with *"),
        }
    }
}

impl std::error::Error for GroupListError {}

/// Splits a list of groups into its elements.
///
/// The function does not know which groups exist. OpenSSL still refuses a list that passes here if
/// no provider has one of its groups (unless that group is marked `?`), or, before 3.3, if two
/// names mean the same group. OpenSSL 3.3 and 3.4 ignore `?` without a name and `??`; these are
/// errors here.
///
/// # Errors
/// Fails if an element makes OpenSSL refuse the list, as far as the text alone shows it.
pub fn split_groups(list: &str, syntax: GroupSyntax) -> Result<Vec<Group>, GroupListError> {
    let tuples = syntax == GroupSyntax::Tuples;
    if tuples && list.trim_matches(is_space).is_empty() {
        return Ok(Vec::new());
    }
    let mut groups: Vec<Group> = Vec::new();
    let mut tuple = 0;
    let mut rest = Some(list);
    while let Some(text) = rest {
        let position = groups.len() + 1;
        let separator = text.find(|c| c == ':' || (tuples && c == '/'));
        let element = text[..separator.unwrap_or(text.len())].trim_matches(is_space);
        let fail = |wrong| GroupListError { element: element.to_owned(), position, wrong };
        let mut group = element_of(element, syntax).map_err(fail)?;
        group.tuple = tuple;
        if syntax == GroupSyntax::Names && groups.iter().any(|other| other.name == group.name) {
            return Err(fail(GroupWrong::Twice));
        }
        groups.push(group);
        rest = separator.map(|at| {
            tuple += usize::from(text.as_bytes()[at] == b'/');
            &text[at + 1..]
        });
    }
    match fifth_key_share(&groups) {
        Some(at) => Err(GroupListError {
            element: format!("*{}", groups[at].name),
            position: at + 1,
            wrong: GroupWrong::TooManyKeyShares,
        }),
        None => Ok(groups),
    }
}

/// True for the characters of C's `isspace`.
fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}')
}

fn element_of(element: &str, syntax: GroupSyntax) -> Result<Group, GroupWrong> {
    if element.is_empty() {
        return Err(GroupWrong::Empty);
    }
    let marks = match syntax {
        GroupSyntax::Names => "",
        GroupSyntax::Optional => "?",
        GroupSyntax::Tuples => "?*-",
    };
    let mut seen = String::new();
    let mut name = element;
    while let Some(mark) = name.chars().next().filter(|&c| marks.contains(c)) {
        if seen.contains(mark) {
            return Err(GroupWrong::MarkTwice(mark));
        }
        seen.push(mark);
        name = &name[1..];
    }
    let Some(first) = name.chars().next() else { return Err(GroupWrong::MarksOnly) };
    match first {
        '?' => return Err(GroupWrong::Needs("?", "3.3")),
        '*' => return Err(GroupWrong::Needs("*", "3.5")),
        '-' => return Err(GroupWrong::Needs("-", "3.5")),
        _ if name.contains('/') => return Err(GroupWrong::Needs("/", "3.5")),
        _ if name.len() > NAME_LIMIT => return Err(GroupWrong::TooLong),
        _ => {}
    }
    let list = ["DEFAULT", "DEFAULT_SUITE_B"].into_iter().find(|l| l.eq_ignore_ascii_case(name));
    let built_in_list = list.is_some() && syntax == GroupSyntax::Tuples;
    if let Some(list) = list
        && !built_in_list
        && !seen.contains('?')
    {
        return Err(GroupWrong::Needs(list, "3.5"));
    }
    let group = Group {
        name: name.to_owned(),
        optional: seen.contains('?'),
        key_share: seen.contains('*'),
        remove: seen.contains('-'),
        built_in_list,
        tuple: 0,
    };
    // OpenSSL puts the marks before the first element of DEFAULT, which already has a `*`.
    let starred = group.key_share && list == Some("DEFAULT");
    if built_in_list && (group.optional || group.remove || starred) {
        return Err(GroupWrong::MarkedList);
    }
    Ok(group)
}

/// Returns the index of the first group that exceeds the limit of key shares. Groups that are
/// optional or removed do not count.
fn fifth_key_share(groups: &[Group]) -> Option<usize> {
    let mut names: Vec<String> = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        let name = group.name.to_ascii_lowercase();
        let counts = group.key_share && !group.optional && !group.remove && !group.built_in_list;
        let removed = |other: &Group| other.remove && other.name.eq_ignore_ascii_case(&name);
        // A group that already occurs earlier without the mark gets no key share either.
        let stood = |other: &Group| !other.remove && other.name.eq_ignore_ascii_case(&name);
        if counts && !groups.iter().any(removed) && !groups[..at].iter().any(stood) {
            names.push(name);
            if names.len() > KEY_SHARES {
                return Some(at);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &str, syntax: GroupSyntax) -> Vec<String> {
        split_groups(list, syntax)
            .unwrap()
            .into_iter()
            .map(|group| {
                let flag = |on, mark| if on { mark } else { "" };
                format!(
                    "{}{}{}{}@{}",
                    flag(group.optional, "?"),
                    flag(group.key_share, "*"),
                    flag(group.remove, "-"),
                    group.name,
                    group.tuple
                )
            })
            .collect()
    }

    fn wrong(list: &str, syntax: GroupSyntax) -> (usize, GroupWrong) {
        let error = split_groups(list, syntax).unwrap_err();
        assert!(error.to_string().contains(&error.position.to_string()), "{error}");
        (error.position, error.wrong)
    }

    #[test]
    fn lists_of_all_releases() {
        assert_eq!(names("X25519:P-256", GroupSyntax::Names), ["X25519@0", "P-256@0"]);
        assert_eq!(names(" X25519 :\tP-256 ", GroupSyntax::Names), ["X25519@0", "P-256@0"]);
        assert_eq!(names("?A:B", GroupSyntax::Optional), ["?A@0", "B@0"]);
        assert_eq!(names("*A / DEFAULT", GroupSyntax::Tuples), ["*A@0", "DEFAULT@1"]);
        assert_eq!(
            names("?*A:*?B/ C : -A", GroupSyntax::Tuples),
            ["?*A@0", "?*B@0", "C@1", "-A@1"]
        );
        assert_eq!(names(" ", GroupSyntax::Tuples), [""; 0]);
        let groups =
            split_groups("default:*Default_Suite_B:DEFAULTS", GroupSyntax::Tuples).unwrap();
        assert_eq!(groups.iter().filter(|group| group.built_in_list).count(), 2);
        assert_eq!(names("A:A", GroupSyntax::Optional).len(), 2);
    }

    #[test]
    fn errors_name_the_element() {
        use GroupSyntax::{Names, Optional, Tuples};
        assert_eq!(wrong("", Names), (1, GroupWrong::Empty));
        assert_eq!(wrong("A:", Names), (2, GroupWrong::Empty));
        assert_eq!(wrong("A::B", Tuples), (2, GroupWrong::Empty));
        assert_eq!(wrong("A//B", Tuples), (2, GroupWrong::Empty));
        assert_eq!(wrong("A:B:A", Names), (3, GroupWrong::Twice));
        assert_eq!(wrong("A:?B", Names), (2, GroupWrong::Needs("?", "3.3")));
        assert_eq!(wrong("*A", Optional), (1, GroupWrong::Needs("*", "3.5")));
        assert_eq!(wrong("A / B", Optional), (1, GroupWrong::Needs("/", "3.5")));
        assert_eq!(wrong("A:DEFAULT", Names), (2, GroupWrong::Needs("DEFAULT", "3.5")));
        assert_eq!(wrong("A:?*", Tuples), (2, GroupWrong::MarksOnly));
        assert_eq!(wrong("??A", Tuples), (1, GroupWrong::MarkTwice('?')));
        for list in ["?DEFAULT", "-default", "*DEFAULT", "?DEFAULT_SUITE_B"] {
            assert_eq!(wrong(list, Tuples), (1, GroupWrong::MarkedList));
        }
        assert_eq!(wrong(&"A".repeat(64), Names), (1, GroupWrong::TooLong));
        assert_eq!(wrong("*A:*B:*C:*D:*E", Tuples), (5, GroupWrong::TooManyKeyShares));
        assert!(split_groups("*A:*B:*C:*D:*A:?*E", Tuples).is_ok());
        assert!(split_groups(&"A".repeat(63), Names).is_ok());
    }
}
