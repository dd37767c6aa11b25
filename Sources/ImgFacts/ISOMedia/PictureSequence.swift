/// The tracks of a HEIF or AVIF file whose pictures follow each other in time.
package struct PictureSequence {
  package let colours: SequenceTrack
  /// The transparency of each picture, if it has any.
  package let alpha: SequenceTrack?
  /// Whether the colours were multiplied by the transparency.
  package let isPremultiplied: Bool

  package var frameCount: Int { colours.samples.count }

  init(movie: ISOMediaBox) throws(FactsError) {
    let tracks = try ISOMediaTrack.all(in: movie)
    guard let pictures = tracks.first(where: \.showsPictures),
      let entry = try pictures.firstSampleEntry()
    else { throw .unsupported("a sequence without a track of pictures") }
    colours = try SequenceTrack(pictures, VisualSampleEntry(entry))
    guard let alpha = try Self.alpha(of: pictures, in: tracks) else {
      (self.alpha, isPremultiplied) = (nil, false)
      return
    }
    self.alpha = alpha.track
    isPremultiplied = try pictures.references("prem").contains(alpha.number)
    guard (alpha.track.width, alpha.track.height) == (colours.width, colours.height) else {
      throw .invalid("the transparency has another size than the colours")
    }
    guard alpha.track.samples.count == frameCount else {
      throw .invalid("\(frameCount) pictures have \(alpha.track.samples.count) of transparency")
    }
  }

  private static func alpha(
    of pictures: ISOMediaTrack, in tracks: [ISOMediaTrack]
  ) throws(FactsError) -> (track: SequenceTrack, number: Int)? {
    let number = try pictures.head().number
    for track in tracks where track.handler == "auxv" {
      guard try track.references("auxl").contains(number), let box = try track.firstSampleEntry()
      else { continue }
      let entry = try VisualSampleEntry(box)
      guard let type = try entry.auxiliaryType(), HEIFImage.alphaTypes.contains(type) else {
        continue
      }
      return (try SequenceTrack(track, entry, isTransparency: true), try track.head().number)
    }
    return nil
  }
}
