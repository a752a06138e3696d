//! Pictures of the screen, which Xvfb keeps in a file in the format of `xwd`, and their PNG files.

use std::fs::File;
use std::path::Path;

use output::Failure;

/// Red, green and blue of each pixel.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Picture {
    width: u32,
    height: u32,
    pixels: Vec<[u8; 3]>,
}

/// Indices of the header's words that are read (X11's `XWDFile.h`), all big-endian.
mod word {
    pub(super) const HEADER_BYTES: usize = 0;
    pub(super) const VERSION: usize = 1;
    pub(super) const WIDTH: usize = 4;
    pub(super) const HEIGHT: usize = 5;
    pub(super) const BYTE_ORDER: usize = 7;
    pub(super) const BITS_PER_PIXEL: usize = 11;
    pub(super) const BYTES_PER_LINE: usize = 12;
    pub(super) const RED_MASK: usize = 14;
    pub(super) const COLOURS: usize = 19;
    pub(super) const COUNT: usize = 25;
}

/// Bytes of an entry of the colour table, which precedes the pixels.
const COLOUR_BYTES: usize = 12;

impl Picture {
    /// Reads the screen's file. Returns `None` unless it has 32 bits for each pixel, with red above
    /// green above blue.
    pub(crate) fn of_screen(file: &[u8]) -> Option<Self> {
        let word = |index: usize| -> Option<u32> {
            let bytes = file.get(4 * index..4 * index + 4)?;
            Some(u32::from_be_bytes(bytes.try_into().ok()?))
        };
        let number = |index: usize| usize::try_from(word(index)?).ok();
        let known = number(word::HEADER_BYTES)? >= 4 * word::COUNT
            && word(word::VERSION)? == 7
            && word(word::BITS_PER_PIXEL)? == 32
            && word(word::RED_MASK)? == 0xff_0000;
        if !known {
            return None;
        }
        let least_first = word(word::BYTE_ORDER)? == 0;
        let (width, height) = (word(word::WIDTH)?, word(word::HEIGHT)?);
        let table = number(word::COLOURS)?.checked_mul(COLOUR_BYTES)?;
        let start = number(word::HEADER_BYTES)?.checked_add(table)?;
        let (stride, used) = (number(word::BYTES_PER_LINE)?, 4 * usize::try_from(width).ok()?);
        let mut pixels = Vec::new();
        for line in 0..usize::try_from(height).ok()? {
            let from = start.checked_add(line.checked_mul(stride)?)?;
            let bytes = file.get(from..from.checked_add(used)?)?;
            pixels.extend(bytes.chunks_exact(4).map(|pixel| match least_first {
                true => [pixel[2], pixel[1], pixel[0]],
                false => [pixel[1], pixel[2], pixel[3]],
            }));
        }
        Some(Self { width, height, pixels })
    }

    /// Counts the pixels of exactly this colour.
    pub(crate) fn count(&self, colour: [u8; 3]) -> usize {
        self.pixels.iter().filter(|pixel| **pixel == colour).count()
    }

    /// Writes the picture as PNG.
    pub(crate) fn save(&self, path: &Path) -> Result<(), Failure> {
        let about = || Failure::about(path.display());
        let file = File::create(path).map_err(Failure::about(path.display()))?;
        let mut encoder = png::Encoder::new(file, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(about())?;
        writer.write_image_data(self.pixels.as_flattened()).map_err(about())?;
        writer.finish().map_err(about())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: u32 = 2;

    /// Makes a screen of two lines of two pixels, with unused bytes at the end of each line.
    fn screen(byte_order: u32, pixels: [[u8; 4]; 4]) -> Vec<u8> {
        let mut words = [0_u32; word::COUNT];
        for (index, value) in [
            (word::HEADER_BYTES, 4 * 25 + 8),
            (word::VERSION, 7),
            (word::WIDTH, 2),
            (word::HEIGHT, 2),
            (word::BYTE_ORDER, byte_order),
            (word::BITS_PER_PIXEL, 32),
            (word::BYTES_PER_LINE, 12),
            (word::RED_MASK, 0xff_0000),
            (word::COLOURS, TABLE),
        ] {
            words[index] = value;
        }
        let mut file: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        file.extend_from_slice(b"name\0\0\0\0");
        file.resize(file.len() + COLOUR_BYTES * TABLE as usize, 0xee);
        for line in pixels.chunks(2) {
            file.extend(line.as_flattened());
            file.extend([0xdd; 4]);
        }
        file
    }

    #[test]
    fn pixels_are_found_in_either_order() {
        let pixels = [[1, 2, 3, 0], [4, 5, 6, 0], [1, 2, 3, 0], [7, 8, 9, 0]];
        let least = Picture::of_screen(&screen(0, pixels)).unwrap();
        assert_eq!((least.width, least.height), (2, 2));
        assert_eq!(least.pixels, [[3, 2, 1], [6, 5, 4], [3, 2, 1], [9, 8, 7]]);
        assert_eq!((least.count([3, 2, 1]), least.count([1, 2, 3])), (2, 0));
        let most = screen(1, pixels.map(|[b, g, r, pad]| [pad, r, g, b]));
        assert!(Picture::of_screen(&most).unwrap() == least);
    }

    #[test]
    fn what_is_cut_short_or_something_else_is_no_screen() {
        let file = screen(0, [[0; 4]; 4]);
        // The unused end of the last line may be missing.
        for length in 0..file.len() - 4 {
            assert!(Picture::of_screen(&file[..length]).is_none(), "{length}");
        }
        for index in [word::VERSION, word::BITS_PER_PIXEL, word::RED_MASK, word::BYTES_PER_LINE] {
            let mut other = file.clone();
            other[4 * index..4 * index + 4].fill(0xff);
            assert!(Picture::of_screen(&other).is_none(), "{index}");
        }
    }

    #[test]
    fn a_png_has_the_pixels() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("screen.png");
        let pixels = [[1, 2, 3, 0], [4, 5, 6, 0], [1, 2, 3, 0], [7, 8, 9, 0]];
        let picture = Picture::of_screen(&screen(0, pixels)).unwrap();
        picture.save(&path).unwrap();
        let file = std::io::BufReader::new(File::open(&path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut bytes = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut bytes).unwrap();
        assert_eq!((info.width, info.height), (2, 2));
        assert_eq!(bytes, picture.pixels.as_flattened());
    }
}
