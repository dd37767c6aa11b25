import FoundationEssentials
import ImgClient

/// Pixels as commands of kitty's graphics protocol.
enum KittyGraphics {
  /// A command has so many bytes of an image at most.
  private static let chunkByteCount = 4_096

  static func text(of pixels: ImagePixels, number: Int, columns: Int, rows: Int) -> String {
    var rest = Data(pixels.bytes).base64EncodedString()[...]
    // Shown at once in so many characters, without an answer; 32 bits a pixel.
    var keys =
      "a=T,q=2,f=32,i=\(number),p=1,s=\(pixels.width),v=\(pixels.height),c=\(columns),r=\(rows),"
    var text = ""
    repeat {
      let chunk = rest.prefix(chunkByteCount)
      rest = rest.dropFirst(chunk.count)
      text += "\u{1B}_G\(keys)m=\(rest.isEmpty ? 0 : 1);\(chunk)\u{1B}\\"
      keys = ""
    } while !rest.isEmpty
    return text
  }
}
