import ImgFacts

/// Where the first frame of a GIF lies on its canvas (GIF89a section 20).
enum GIFFirstFrame {
  /// - Returns: `nil` when no frame is found.
  static func frame(of source: any ByteSource) -> GIFBlocks.Frame? {
    guard var blocks = try? GIFBlocks(ByteWindow(source)) else { return nil }
    while let block = try? blocks.next() {
      if case .frame(let frame) = block { return frame }
    }
    return nil
  }
}
