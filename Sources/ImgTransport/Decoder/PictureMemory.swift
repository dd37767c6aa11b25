package import ImgSystem

/// The memory from which a decoder takes a picture. Its worker alone can write it, so a picture that
/// has taken over a decoder cannot change what a second decoder or the worker sees.
package struct PictureMemory: Sendable {
  private let memory: SharedMemory

  /// The worker's side: room for a picture, which takes up memory once it is written. There is less
  /// room where this process may not make so large a file.
  package init(maximumByteCount: Int) throws(SystemError) {
    let room = min(maximumByteCount, ThisProcess.maximumFileByteCount)
    memory = try SharedMemory(byteCount: max(room, 1), writers: .creator)
  }

  /// The decoder's side: the memory that its worker passed on.
  package init(mapping file: PassedFile) throws(SystemError) {
    memory = try SharedMemory(mapping: file, isWritable: false)
  }

  /// The open file, for the decoder.
  package var file: PassedFile { memory.file }

  package var maximumByteCount: Int { memory.byteCount }

  // MARK: - The worker's side

  /// - Precondition: there is room.
  package func put(_ picture: borrowing Span<UInt8>) {
    memory.write(picture, at: 0)
  }

  /// Reads the picture from an open file.
  ///
  /// - Returns: the size of the picture, at most `maximumByteCount`.
  package func put(
    contentsOf descriptor: CInt, upTo maximumByteCount: Int
  ) throws(SystemError) -> Int {
    try memory.read(from: descriptor, upTo: maximumByteCount)
  }

  /// Makes the first bytes zeros.
  package func clear(byteCount: Int) {
    memory.clear(in: 0..<byteCount)
  }

  // MARK: - The decoder's side

  /// Calls `body` with the picture in place.
  ///
  /// - Precondition: `byteCount` is at most ``maximumByteCount``.
  package func withPicture<Result, Reason: Error>(
    byteCount: Int, _ body: (Span<UInt8>) throws(Reason) -> Result
  ) throws(Reason) -> Result {
    try memory.withBytes(in: 0..<byteCount, body)
  }
}
