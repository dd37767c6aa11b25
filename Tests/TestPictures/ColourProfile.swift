import CZlib
import FoundationEssentials
import Glibc

/// Colour profiles (ICC.1) made for tests: as small as a reader takes them.
package enum ColourProfile {
  /// A gray profile with a tone curve of that power.
  package static func gray(gamma: Double) -> [UInt8] {
    profile(
      space: "GRAY", connection: "XYZ ", tags: [("wtpt", white), ("kTRC", Curve.gamma(gamma).data)])
  }

  /// The light of the three colours, adapted to the white of the connection space.
  package enum Primaries {
    case sRGB, displayP3

    var colours: [[Double]] {
      switch self {
      case .sRGB:
        [[0.43607, 0.22249, 0.01392], [0.38515, 0.71687, 0.09708], [0.14307, 0.06061, 0.71410]]
      case .displayP3:
        [[0.51512, 0.24120, -0.00105], [0.29198, 0.69225, 0.04189], [0.15710, 0.06657, 0.78407]]
      }
    }
  }

  package enum Curve {
    case sRGB, sampledSRGB
    case gamma(Double)

    var data: [UInt8] {
      switch self {
      case .sRGB:
        let parameters = [2.4, 1 / 1.055, 0.055 / 1.055, 1 / 12.92, 0.04045]
        return tag("para") + [0, 3, 0, 0] + parameters.flatMap(fixed)
      case .sampledSRGB:
        let samples = (0...1_023).map { step in
          let level = Double(step) / 1_023
          let light = level <= 0.04045 ? level / 12.92 : pow((level + 0.055) / 1.055, 2.4)
          return Int((light * 65_535).rounded())
        }
        return tag("curv") + number(samples.count, 4) + samples.flatMap { number($0, 2) }
      case .gamma(let gamma):
        return tag("curv") + number(1, 4) + number(Int(gamma * 256), 2) + [0, 0]
      }
    }
  }

  /// An RGB profile made of curves and a matrix.
  package static func rgb(primaries: Primaries, curve: Curve) -> [UInt8] {
    let colours = zip(["rXYZ", "gXYZ", "bXYZ"], primaries.colours).map { name, colour in
      (name: name, data: tag("XYZ ") + colour.flatMap(fixed))
    }
    let curves = ["rTRC", "gTRC", "bTRC"].map { (name: $0, data: curve.data) }
    return profile(space: "RGB ", connection: "XYZ ", tags: [("wtpt", white)] + colours + curves)
  }

  /// An RGB profile that has a table for the perceptual intent alone, and in it takes red for blue and
  /// blue for red.
  package static var swappedPerceptual: [UInt8] {
    let ramp = (0...255).map { UInt8($0) }
    let ramps = ramp + ramp + ramp
    // The corners of the cube in CIE L*a*b*, blue counting fastest: L* is stored times 2.55, a* and b*
    // plus 128. Where blue is said, the values are those of red, and the other way round.
    let corners: [[UInt8]] = [
      [0, 128, 128], [138, 209, 198], [224, 49, 209], [249, 112, 221],
      [75, 196, 16], [153, 222, 68], [231, 77, 113], [255, 128, 128],
    ]
    let identity = [1, 0, 0, 0, 1, 0, 0, 0, 1].flatMap { number($0 << 16, 4) }
    let table =
      tag("mft1") + [3, 3, 2, 0] + identity + ramps + corners.flatMap(\.self) + ramps
    return profile(space: "RGB ", connection: "Lab ", tags: [("wtpt", white), ("A2B0", table)])
  }

  /// The white of the connection space, D50.
  private static var white: [UInt8] {
    tag("XYZ ") + number(0xF6D6, 4) + number(0x10000, 4) + number(0xD32D, 4)
  }

  private static func profile(
    space: String, connection: String, tags: [(name: String, data: [UInt8])]
  ) -> [UInt8] {
    let tableByteCount = 4 + 12 * tags.count
    var table = number(tags.count, 4)
    var data: [UInt8] = []
    for (name, content) in tags {
      table +=
        Array(name.utf8) + number(128 + tableByteCount + data.count, 4) + number(content.count, 4)
      data += content + [UInt8](repeating: 0, count: (4 - content.count % 4) % 4)
    }
    let size = 128 + tableByteCount + data.count
    var header = number(size, 4) + Array("lcms".utf8) + [2, 0x40, 0, 0]
    header += Array("mntr".utf8) + Array(space.utf8) + Array(connection.utf8)
    header += [UInt8](repeating: 0, count: 12) + Array("acsp".utf8)
    header += [UInt8](repeating: 0, count: 28)
    header += number(0xF6D6, 4) + number(0x10000, 4) + number(0xD32D, 4)
    header += [UInt8](repeating: 0, count: 128 - header.count)
    return header + table + data
  }

  private static func tag(_ type: String) -> [UInt8] {
    Array(type.utf8) + [0, 0, 0, 0]
  }

  /// An s15Fixed16Number.
  private static func fixed(_ value: Double) -> [UInt8] {
    number(Int((value * 65_536).rounded()), 4)
  }

  /// A number of so many bytes, the most significant first.
  private static func number(_ value: Int, _ byteCount: Int) -> [UInt8] {
    (0..<byteCount).reversed().map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
  }
}

/// SVGs, 32 × 24 pixels of size.
package enum Drawing {
  /// - Parameters:
  ///   - prologue: what stands before the root element.
  ///   - content: what stands inside it.
  package static func svg(prologue: String = "", _ content: String) -> [UInt8] {
    let start =
      "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' "
      + "width='32' height='24'>"
    return Array("\(prologue)\(start)\(content)</svg>".utf8)
  }

  /// An element that shows a picture.
  package static func image(_ location: String) -> String {
    "<image width='32' height='24' xlink:href='\(location)'/>"
  }

  /// An element that contains a picture and shows it.
  package static func image(
    embedding picture: [UInt8], as mediaType: String = "image/png"
  ) -> String {
    image("data:\(mediaType);base64,\(Data(picture).base64EncodedString())")
  }
}

/// Zlib data that inflates to zeros, a thousand times as many as it has bytes.
package enum CompressedZeros {
  /// - Parameter count: the number of zeros; at most 4 GB.
  package static func bytes(_ count: Int) -> [UInt8] {
    var stream = unsafe z_stream()
    let size = unsafe CInt(MemoryLayout<z_stream>.size)
    guard unsafe deflateInit_(&stream, Z_BEST_COMPRESSION, ZLIB_VERSION, size) == Z_OK else {
      preconditionFailure("there is no memory for zlib")
    }
    defer { unsafe deflateEnd(&stream) }
    var output = [UInt8](repeating: 0, count: count / 900 + 1_024)
    var zeros = [UInt8](repeating: 0, count: 1 << 20)
    let written = unsafe output.withUnsafeMutableBufferPointer { output in
      unsafe stream.next_out = output.baseAddress
      unsafe stream.avail_out = uInt(output.count)
      unsafe zeros.withUnsafeMutableBufferPointer { zeros in
        var rest = count
        repeat {
          unsafe stream.next_in = zeros.baseAddress
          unsafe stream.avail_in = uInt(min(rest, zeros.count))
          rest -= min(rest, zeros.count)
          unsafe deflate(&stream, rest == 0 ? Z_FINISH : Z_NO_FLUSH)
        } while rest > 0
      }
      return unsafe Int(stream.total_out)
    }
    return Array(output.prefix(written))
  }
}
