/// The frames of an animation in their order. Used by one thread.
protocol FrameSequence: AnyObject {
  /// The next frame as it is seen: the whole canvas, not turned upright, in the colours of the file.
  /// Its pixels are decoded.
  ///
  /// - Returns: `nil` behind the last.
  func next() throws(DecodeError) -> Image?
}
