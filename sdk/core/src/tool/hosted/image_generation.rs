//! Image generation.

use super::{HostedTool, builder};

/// A tool that draws images; created by [`HostedTool::image_generation`].
#[derive(Clone, Debug, PartialEq)]
pub struct ImageGeneration(pub(super) HostedTool);

builder!(ImageGeneration);

impl ImageGeneration {
    /// Sets the model that draws, for example `gpt-image-1`.
    #[must_use]
    pub fn model(self, model: impl Into<String>) -> Self {
        self.set("model", model.into())
    }

    /// Sets the size: `1024x1024`, `1024x1536`, `1536x1024` or `auto`.
    #[must_use]
    pub fn size(self, size: impl Into<String>) -> Self {
        self.set("size", size.into())
    }

    /// Sets the quality: `low`, `medium`, `high` or `auto`.
    #[must_use]
    pub fn quality(self, quality: impl Into<String>) -> Self {
        self.set("quality", quality.into())
    }

    /// Sets the background: `transparent`, `opaque` or `auto`.
    #[must_use]
    pub fn background(self, background: impl Into<String>) -> Self {
        self.set("background", background.into())
    }

    /// Sets the format: `png`, `webp` or `jpeg`. History holds the whole image, so a small one is
    /// better.
    #[must_use]
    pub fn output_format(self, format: impl Into<String>) -> Self {
        self.set("output_format", format.into())
    }

    /// Sets the compression of a `webp` or `jpeg`, in percent: 0 to 100.
    #[must_use]
    pub fn output_compression(self, percent: u8) -> Self {
        self.set("output_compression", percent)
    }
}
