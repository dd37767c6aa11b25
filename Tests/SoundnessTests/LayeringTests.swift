import FoundationEssentials
import Testing

/// The arrows between the modules point one way.
struct LayeringTests {
  /// What of the platform a module that does input and output may use.
  private static let platform: Set<String> = [
    "Dispatch", "FoundationEssentials", "Glibc", "Synchronization",
  ]

  /// Module ← what it may import. The types of a C library stay in the modules whose rows name it.
  private static let allowedImports: [String: Set<String>] = [
    // Pure: no input, no output, no clock, so nothing of the platform.
    "ImgModel": ["CIDN2", "FoundationEssentials"],
    "ImgScheduler": ["ImgModel", "ImgWire"],
    "ImgWorkerMachine": ["ImgModel", "ImgWire"],

    "ImgSystem": platform.union(["CLinux"]),
    "ImgSandbox": platform.union(["CLinux", "CSeccomp", "ImgModel", "ImgSystem"]),
    "ImgSettings": platform.union(["ImgCrypto", "ImgModel", "ImgSystem"]),
    "ImgWire": platform.union(["ImgModel", "ImgSystem"]),
    "ImgCrypto": ["CSodium"],
    "ImgHTTP": platform.union(["CLinux", "CMicroHTTPD", "ImgSystem"]),
    "ImgStore": platform.union(["CLMDB", "CXXHash", "ImgCrypto", "ImgModel", "ImgSystem"]),
    "ImgFetch": platform.union([
      "CBrotli", "CCurl", "CZlib", "CZstd", "ImgFacts", "ImgModel", "ImgSystem",
    ]),
    "ImgFacts": ["CZlib", "ImgModel"],
    "ImgDecode": platform.union([
      "CDAV1D", "CDE265", "CJPEG", "CJXL", "CPNG", "CResample", "CVips", "CWebP", "CXML",
      "ImgFacts", "ImgModel", "ImgSandbox", "ImgSystem", "ImgWire",
    ]),
    "ImgCoordinator": platform.union([
      "ImgModel", "ImgSandbox", "ImgScheduler", "ImgSettings", "ImgStore", "ImgSystem",
      "ImgWire",
    ]),
    "ImgWorker": platform.union([
      "ImgFacts", "ImgFetch", "ImgModel", "ImgSandbox", "ImgStore", "ImgSystem",
      "ImgWire", "ImgWorkerMachine",
    ]),
    "ImgClient": platform.union([
      "ImgFacts", "ImgModel", "ImgSettings", "ImgStore", "ImgSystem",
      "ImgWire", "Observation",
    ]),
    "ImgCommands": platform.union([
      "ImgClient", "ImgCrypto", "ImgFacts", "ImgModel", "ImgSettings", "ImgSystem",
    ]),

    "ImgGateway": platform.union([
      "ImgClient", "ImgCrypto", "ImgFacts", "ImgHTTP", "ImgModel",
      "ImgSandbox", "ImgSettings", "ImgSystem",
    ]),

    "imgctl": platform.union(["ImgCommands"]),
    "imggateway": platform.union(["ImgGateway"]),
    "imgcoordinator": platform.union(["ImgCoordinator"]),
    "imgworker": platform.union(["ImgWorker"]),
    "imgdecoder": platform.union(["CAllocation", "ImgDecode"]),
  ]

  @Test func `every Swift target below Sources has a row in the table`() throws {
    let names = try Manifest.ours().targets
      .filter { $0.directory.hasPrefix("Sources/") }
      .map(\.name)
      .filter { try !Repository.swiftSources(below: "Sources/\($0)").isEmpty }
    #expect(names.sorted() == Self.allowedImports.keys.sorted())
  }

  @Test(arguments: Self.allowedImports.keys.sorted())
  func `a module imports only what its row allows`(module: String) throws {
    let allowed = try #require(Self.allowedImports[module])
    for source in try Repository.swiftSources(below: "Sources/\(module)") {
      let forbidden = source.imports.subtracting(allowed).sorted()
      #expect(forbidden.isEmpty, "\(source.path)")
    }
  }

  /// What travels is pure. Only the channels know of sockets and memory.
  @Test func `messages and their coding import the model alone`() throws {
    for source in try Repository.swiftSources(below: "Sources/ImgWire")
    where !source.path.hasPrefix("Sources/ImgWire/Channel/") {
      let others = source.imports.subtracting(["FoundationEssentials", "ImgModel"])
      #expect(others.isEmpty, "\(source.path)")
    }
  }

  /// They import the messages, and get them from a driver or a simulation.
  @Test(arguments: ["ImgScheduler", "ImgWorkerMachine"])
  func `a pure module names no type of the channels`(module: String) throws {
    let channels = try Repository.swiftSources(below: "Sources/ImgWire/Channel").flatMap(\.types)
    let names = Set(channels.filter { !$0.isExtension }.map(\.name))
    try #require(names.contains("Channel"))
    for source in try Repository.swiftSources(below: "Sources/\(module)") {
      let used = source.types.reduce(into: Set()) { $0.formUnion($1.words) }.intersection(names)
      #expect(used.isEmpty, "\(source.path)")
    }
  }

  /// A command reads its arguments, calls the library, and prints. What it needs of files, terminals and
  /// signals are types of their own, which may stand in its file.
  @Test func `a command makes no system call`() throws {
    let system = try Repository.swiftSources(below: "Sources/ImgSystem").flatMap(\.types)
    let systemNames = Set(system.filter { !$0.isExtension }.map(\.name))
    for source in try Repository.swiftSources(below: "Sources/ImgCommands") {
      let commands = Set(source.types.filter { $0.inherits("Command") }.map(\.name))
      for type in source.types where commands.contains(type.name) {
        let used = type.words.intersection(systemNames).sorted()
        #expect(used.isEmpty, "\(type.name) in \(source.path)")
      }
    }
  }

  @Test func `every target lists the modules that it imports, and no more`() throws {
    let targets = try Manifest.ours().targets
    let ownModules = Set(targets.map(\.name))
    for target in targets where !target.isSystemLibrary {
      let imports = try Repository.swiftSources(below: target.directory).map(\.imports)
      let imported = imports.reduce(into: Set()) { $0.formUnion($1) }.intersection(ownModules)
      #expect(imported.sorted() == target.dependencies.sorted(), "\(target.name)")
    }
  }

  @Test func `the manifest's targets are read with kind, place and dependencies`() throws {
    let manifest = Manifest(
      text: """
        .systemLibrary(name: "CThing", pkgConfig: "thing"),
        .target(
          name: "Thing",
          dependencies: [
            "CThing",
            "Other",
          ]),
        .testTarget(name: "ThingTests", dependencies: ["Thing"]),
        .target(name: "Helper", path: "Tests/Helper"),
        """)
    #expect(manifest.targets.map(\.name) == ["CThing", "Thing", "ThingTests", "Helper"])
    #expect(manifest.targets.map(\.isSystemLibrary) == [true, false, false, false])
    let directories = ["Sources/CThing", "Sources/Thing", "Tests/ThingTests", "Tests/Helper"]
    #expect(manifest.targets.map(\.directory) == directories)
    #expect(manifest.targets.map(\.dependencies) == [[], ["CThing", "Other"], ["Thing"], []])
  }
}

/// What the built programs link. The network is the workers' business alone and pictures are the
/// decoders', so that `imgctl` starts in milliseconds and a hostile picture meets neither the network
/// nor the store.
struct LinkageTests {
  private static let imageLibraries = [
    "libvips", "libjpeg", "libjxl", "libdav1d", "libde265", "libpng", "libwebp",
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

  @Test func `imggateway links libmicrohttpd and LMDB, no libcurl and no image library`() throws {
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

/// The shared libraries that a program asks the dynamic linker for by name.
///
/// Reads just that much of a 64-bit little-endian ELF file: the section of type `SHT_DYNAMIC`, its
/// entries with the tag `DT_NEEDED`, and the names they point to (elf(5)).
struct ElfImage {
  struct Malformed: Error {}

  let neededLibraries: [String]

  init(bytes: [UInt8]) throws(Malformed) {
    let reader = Reader(bytes: bytes)
    guard bytes.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else { throw Malformed() }
    let table = try reader.integer(at: 0x28, byteCount: 8)
    let entrySize = try reader.integer(at: 0x3A, byteCount: 2)
    let entryCount = try reader.integer(at: 0x3C, byteCount: 2)
    let headers = (0..<entryCount).map { table + $0 * entrySize }

    var names: [String] = []
    for header in headers where try reader.integer(at: header + 4, byteCount: 4) == 6 {
      let linked = try reader.integer(at: header + 0x28, byteCount: 4)
      guard headers.indices.contains(linked) else { throw Malformed() }
      let strings = try reader.integer(at: headers[linked] + 0x18, byteCount: 8)
      let first = try reader.integer(at: header + 0x18, byteCount: 8)
      let byteCount = try reader.integer(at: header + 0x20, byteCount: 8)
      for entry in stride(from: first, to: first + byteCount, by: 16)
      where try reader.integer(at: entry, byteCount: 8) == 1 {
        let name = try reader.integer(at: entry + 8, byteCount: 8)
        names.append(try reader.text(at: strings + name))
      }
    }
    neededLibraries = names
  }

  private struct Reader {
    let bytes: [UInt8]

    func integer(at offset: Int, byteCount: Int) throws(Malformed) -> Int {
      guard offset >= 0, offset <= bytes.count - byteCount else { throw Malformed() }
      let value = bytes[offset..<offset + byteCount].reversed().reduce(UInt64(0)) {
        $0 << 8 | UInt64($1)
      }
      // Everything read here is a tag or a place in a file that is in memory.
      guard let value = Int(exactly: value), value <= Int(Int32.max) else { throw Malformed() }
      return value
    }

    func text(at offset: Int) throws(Malformed) -> String {
      guard bytes.indices.contains(offset) else { throw Malformed() }
      return String(decoding: bytes[offset...].prefix { $0 != 0 }, as: UTF8.self)
    }
  }
}
