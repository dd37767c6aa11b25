import ImgFacts

/// Refuses frames of a GIF whose pixels do not go to their end. libvips notices that in the first frame
/// only, and shows a part of a later one.
struct GIFFrameCheck {
  private var blocks: GIFBlocks?

  init(of source: any ByteSource) {
    blocks = try? GIFBlocks(ByteWindow(source))
  }

  /// Checks the next frame.
  mutating func advance() throws(DecodeError) {
    do throws(FactsError) {
      while let block = try blocks?.next() {
        guard case .frame = block else { continue }
        _ = try blocks?.endOfFrame()
        return
      }
    } catch {}
    throw .corrupt("the file ends before the frame does")
  }
}
