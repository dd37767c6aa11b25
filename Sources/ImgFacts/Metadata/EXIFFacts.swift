/// Metadata of a camera or a program (CIPA DC-008), by names of tags as most programs print them.
/// Values stay as they are stored: a code stays a number, a date a text of local time.
package struct EXIFFacts: Hashable, Sendable, Codable {
  /// Of the picture.
  package var ifd0: [String: FactValue] = [:]
  /// Of the exposure and the camera.
  package var exif: [String: FactValue] = [:]
  /// Of interoperability.
  package var interop: [String: FactValue] = [:]

  var isEmpty: Bool { ifd0.isEmpty && exif.isEmpty && interop.isEmpty }
}

/// Where a picture was taken.
package struct GPSFacts: Hashable, Sendable, Codable {
  /// In degrees; north is positive.
  package var latitude: Double?
  /// In degrees; east is positive.
  package var longitude: Double?
  /// In metres above the sea.
  package var altitude: Double?
  /// All tags by their names, coordinates in degrees without a sign, times as text.
  package var tags: [String: FactValue] = [:]
}
