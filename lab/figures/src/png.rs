//! Figures as PNG, also on machines without fonts.

use std::sync::Arc;

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb::Database};

/// Pixels for each unit of the drawing, enough for print.
const SCALE: f32 = 2.0;

/// Renders an SVG of this crate as a PNG file, with the built-in font.
///
/// # Errors
/// It is no SVG, or too large for the memory.
pub fn png(svg: &str) -> Result<Vec<u8>, String> {
    let mut fonts = Database::new();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    let options = Options { fontdb: Arc::new(fonts), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| error.to_string())?;
    let size = tree.size();
    let (width, height) = ((SCALE * size.width()) as u32, (SCALE * size.height()) as u32);
    let mut pixels = Pixmap::new(width, height).ok_or("too large a figure")?;
    resvg::render(&tree, Transform::from_scale(SCALE, SCALE), &mut pixels.as_mut());
    pixels.encode_png().map_err(|error| error.to_string())
}
