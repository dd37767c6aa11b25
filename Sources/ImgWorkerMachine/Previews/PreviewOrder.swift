package import ImgModel

/// Asks for a preview of a body that is arriving.
package struct PreviewOrder: Hashable, Sendable {
  package let transfer: TransferID
  package let lease: LeaseID
  package let variant: Variant
  /// The scans of a progressive JPEG that the previous preview shows. One that shows no more is not made.
  package let shownScanCount: Int

  package init(transfer: TransferID, lease: LeaseID, variant: Variant, shownScanCount: Int) {
    self.transfer = transfer
    self.lease = lease
    self.variant = variant
    self.shownScanCount = shownScanCount
  }
}

/// What came of a ``PreviewOrder``.
package enum PreviewEnd: Hashable, Sendable {
  /// The driver holds the bytes of the preview while this event is handled.
  ///
  /// - scanCount: the scans of a progressive JPEG that it shows; 0 for other formats.
  case made(Thumbnail, scanCount: Int)
  /// What has arrived shows nothing new, or no decoder was idle.
  case later
  /// The picture has no previews, or a decoder died of one.
  case never
}
