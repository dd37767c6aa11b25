package import ImgModel

/// Asks for a preview of a body that is arriving.
package struct PreviewOrder: Hashable, Sendable {
  package let transfer: TransferID
  package let lease: LeaseID
  package let variant: Variant
  /// The first bytes of the body that the previous preview shows. One that shows no more is not made.
  package let shownByteCount: Int

  package init(transfer: TransferID, lease: LeaseID, variant: Variant, shownByteCount: Int) {
    self.transfer = transfer
    self.lease = lease
    self.variant = variant
    self.shownByteCount = shownByteCount
  }
}

/// What came of a ``PreviewOrder``.
package enum PreviewEnd: Hashable, Sendable {
  /// The driver holds the bytes of the preview while this event is handled.
  ///
  /// - shownByteCount: the first bytes of the body that it shows.
  case made(Thumbnail, shownByteCount: Int)
  /// What has arrived shows nothing new.
  case later
  /// No decoder was idle.
  case busy
  /// The picture has no previews, none that would show more than the last one, or a decoder died of one.
  case never
}
