import FoundationEssentials
import Testing

/// What the built programs link. The network is the workers' business alone and pictures are the
/// decoders', so that `imgctl` starts in milliseconds and a hostile picture meets neither the network
/// nor the store.
struct LinkageTests {
  private static let imageLibraries = [
    "libvips", "libjpeg", "libjxl", "libdav1d", "libde265", "libpng",
  ]
  private static let networkAndStore = ["libcurl", "liblmdb"]

  @Test(arguments: ["imgctl", "imgcoordinator"])
  func `imgctl and imgcoordinator link no image library and no libcurl`(program: String) throws {
    let libraries = try neededLibraries(of: program)
    #expect(libraries.filter(isOneOf: Self.imageLibraries + ["libcurl"]) == [])
    #expect(libraries.filter(isOneOf: ["libFoundation.so"]) == [])
  }

  @Test func `imgworker links libcurl and LMDB, and no image library`() throws {
    let libraries = try neededLibraries(of: "imgworker")
    #expect(libraries.filter(isOneOf: Self.imageLibraries) == [])
    #expect(libraries.filter(isOneOf: Self.networkAndStore).count == 2)
  }

  @Test func `imgdecoder links the image libraries, and neither libcurl nor LMDB`() throws {
    let libraries = try neededLibraries(of: "imgdecoder")
    #expect(libraries.filter(isOneOf: Self.networkAndStore) == [])
    #expect(libraries.filter(isOneOf: Self.imageLibraries).count == Self.imageLibraries.count)
  }

  @Test func `imggateway links libmicrohttpd and LMDB, and neither libcurl nor an image library`()
    throws
  {
    let libraries = try neededLibraries(of: "imggateway")
    #expect(libraries.filter(isOneOf: ["libmicrohttpd", "liblmdb"]).count == 2)
    #expect(libraries.filter(isOneOf: Self.imageLibraries + ["libcurl"]) == [])
    #expect(libraries.filter(isOneOf: ["libFoundation.so"]) == [])
  }

  @Test func `a file that is not a program is refused`() {
    #expect(throws: ElfImage.Malformed.self) { try ElfImage(bytes: Array("#!/bin/sh".utf8)) }
  }

  /// The programs lie beside the program that runs the tests.
  private func neededLibraries(of program: String) throws -> [String] {
    let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let directory = tests.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    let path = (directory + [program[...]]).joined(separator: "/")
    let bytes = try Data(contentsOf: URL(filePath: path))
    return try ElfImage(bytes: Array(bytes)).neededLibraries
  }
}

extension [String] {
  fileprivate func filter(isOneOf prefixes: [String]) -> [String] {
    filter { name in prefixes.contains(where: name.hasPrefix) }
  }
}
