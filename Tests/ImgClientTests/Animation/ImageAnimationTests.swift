import ImgClient
import TestPictures
import Testing

struct ImageAnimationTests {
  private func image(_ bytes: [UInt8], _ type: ImageType) -> LoadedImage {
    LoadedImage(
      bytes: bytes, type: type, width: 1, height: 1, source: LoadedImage.sample.source,
      origin: .network)
  }

  /// A GIF of frames of one pixel.
  ///
  /// - Parameter delays: in hundredths of a second.
  private func gif(delays: [UInt8], repetitions: UInt8?) -> [UInt8] {
    let screen = Array("GIF89a".utf8) + [1, 0, 1, 0, 0x80, 0, 0] + [0, 0, 0, 255, 255, 255]
    let loop = repetitions.map { count in
      [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, count, 0, 0]
    }
    let frames = delays.flatMap { delay -> [UInt8] in
      [0x21, 0xF9, 4, 0, delay, 0, 0, 0, 0x2C, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0]
    }
    return screen + (loop ?? []) + frames + [0x3B]
  }

  @Test func `delays are those that browsers play, and the count of passes is that of the file`() {
    let animation = image(gif(delays: [5, 1, 0, 2], repetitions: 2), .gif).animation
    #expect(animation?.delays == [50, 100, 100, 20].map { .milliseconds($0) })
    #expect(animation?.frameCount == 4)
    #expect(animation?.loopCount == 3)
    #expect(animation?.duration == .milliseconds(270))
    #expect(image(gif(delays: [5, 5], repetitions: 0), .gif).animation?.loopCount == nil)
    #expect(image(gif(delays: [5, 5], repetitions: nil), .gif).animation?.loopCount == 1)
  }

  @Test func `a still, and bytes that cannot be read, are no animation`() throws {
    #expect(image(gif(delays: [5], repetitions: nil), .gif).animation == nil)
    let whole = gif(delays: [5, 5], repetitions: nil)
    for count in 0..<whole.count {
      #expect(image(Array(whole.prefix(count)), .gif).animation == nil)
    }
    #expect(LoadedImage.sample.animation == nil)
    let still = try PictureMaker.start().card(index: 1, format: .webp)
    #expect(image(still, .webp).animation == nil)
  }

  @Test func `a WebP that is animated tells its frames`() throws {
    let bytes = try PictureMaker.start().animation(index: 1, frameCount: 4, format: .webp)
    let animation = image(bytes, .webp).animation
    #expect(animation?.frameCount == 4)
    #expect(animation?.delays.allSatisfy { $0 == .milliseconds(100) } == true)
  }

  @Test func `an animation made by hand plays at least once, and no frame in no time`() {
    let delays = [Duration.zero, .seconds(-1), .milliseconds(10), .microseconds(12_500)]
    #expect(
      ImageAnimation(delays: delays).delays == [
        .milliseconds(100), .milliseconds(100), .milliseconds(100), .microseconds(12_500),
      ])
    #expect(ImageAnimation(delays: [.seconds(1)], loopCount: 0).loopCount == 1)
    #expect(ImageAnimation(delays: [.seconds(1)]).loopCount == nil)
  }
}
