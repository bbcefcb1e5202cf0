//! Images.

use super::{HostedTool, builder};

/// The drawing of images; made by [`HostedTool::image_generation`].
#[derive(Clone, Debug, PartialEq)]
pub struct ImageGeneration(pub(super) HostedTool);

builder!(ImageGeneration);

impl ImageGeneration {
    /// The model that draws: `gpt-image-1`.
    #[must_use]
    pub fn model(self, model: impl Into<String>) -> Self {
        self.set("model", model.into())
    }

    /// The size: `1024x1024`, `1024x1536`, `1536x1024` or `auto`.
    #[must_use]
    pub fn size(self, size: impl Into<String>) -> Self {
        self.set("size", size.into())
    }

    /// The quality: `low`, `medium`, `high` or `auto`.
    #[must_use]
    pub fn quality(self, quality: impl Into<String>) -> Self {
        self.set("quality", quality.into())
    }

    /// The background: `transparent`, `opaque` or `auto`.
    #[must_use]
    pub fn background(self, background: impl Into<String>) -> Self {
        self.set("background", background.into())
    }

    /// The format: `png`, `webp` or `jpeg`. An image is in history whole, so a small one is better.
    #[must_use]
    pub fn output_format(self, format: impl Into<String>) -> Self {
        self.set("output_format", format.into())
    }

    /// How much a `webp` or `jpeg` is compressed: 0 to 100.
    #[must_use]
    pub fn output_compression(self, percent: u8) -> Self {
        self.set("output_compression", percent)
    }
}
