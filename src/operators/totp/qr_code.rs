//! A QR code as the path of an SVG: every dark module a square of one unit.

use std::fmt::Write;

use qrcode::{Color, EcLevel, QrCode};

/// The light margin that readers need, in modules.
const MARGIN: usize = 4;

/// A QR code.
#[derive(Clone)]
pub struct QrPath {
    /// The width and height, margins included.
    pub size: usize,
    /// The `d` of the path.
    pub path: String,
}

impl QrPath {
    pub(super) fn of(text: &str) -> Self {
        let code = QrCode::with_error_correction_level(text, EcLevel::M).expect("an address of an operator fits");
        let (width, modules) = (code.width(), code.to_colors());
        let mut path = String::new();
        for (index, _) in modules.iter().enumerate().filter(|(_, module)| **module == Color::Dark) {
            write!(path, "M{} {}h1v1h-1z", index % width + MARGIN, index / width + MARGIN).expect("a text can be written to");
        }
        Self { size: width + 2 * MARGIN, path }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_a_square_with_a_margin() {
        let code = QrPath::of("otpauth://totp/Portico:ada%40shop.example?secret=GEZDGNBVGY3TQOJQ&issuer=Portico");
        assert!(code.size >= 21 + 8 && code.path.starts_with("M4 4h1v1h-1z"), "{}", &code.path[..40]);
        assert!(!code.path.contains('"') && !code.path.contains('<'));
    }
}
