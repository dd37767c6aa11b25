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
    "ImgCollections": [],
    "ImgModel": ["CIDN2", "FoundationEssentials"],
    "ImgWire": ["FoundationEssentials", "ImgModel"],
    "ImgScheduler": ["ImgModel", "ImgWire"],
    "ImgWorkerMachine": ["ImgModel", "ImgWire"],

    "ImgSystem": platform.union(["CLinux"]),
    "ImgSandbox": platform.union(["CLinux", "CSeccomp", "ImgModel", "ImgSystem"]),
    "ImgSettings": platform.union(["ImgModel", "ImgSystem"]),
    "ImgTransport": platform.union(["ImgModel", "ImgSystem", "ImgWire"]),
    "ImgCrypto": ["CSodium"],
    "ImgHTTP": platform.union(["CLinux", "CMicroHTTPD", "ImgSystem"]),
    "ImgStore": platform.union(["CLMDB", "CXXHash", "ImgCrypto", "ImgModel", "ImgSystem"]),
    "ImgFetch": platform.union([
      "CBrotli", "CCurl", "CZlib", "CZstd", "ImgFacts", "ImgModel", "ImgSystem",
    ]),
    "ImgSniff": ["CZlib", "ImgModel"],
    "ImgFacts": ["ImgModel", "ImgSniff"],
    "ImgDecode": platform.union([
      "CDAV1D", "CDE265", "CJPEG", "CJXL", "CPNG", "CResample", "CVips", "CXML", "ImgFacts",
      "ImgModel", "ImgSniff",
    ]),
    "ImgDecoder": platform.union([
      "CAllocation", "ImgDecode", "ImgModel", "ImgSandbox", "ImgSystem", "ImgTransport", "ImgWire",
    ]),
    "ImgCoordinator": platform.union([
      "ImgModel", "ImgSandbox", "ImgScheduler", "ImgSettings", "ImgStore", "ImgSystem",
      "ImgTransport", "ImgWire",
    ]),
    "ImgWorker": platform.union([
      "ImgFacts", "ImgFetch", "ImgModel", "ImgSandbox", "ImgSniff", "ImgStore", "ImgSystem",
      "ImgTransport", "ImgWire", "ImgWorkerMachine",
    ]),
    "ImgClient": platform.union([
      "ImgCollections", "ImgFacts", "ImgModel", "ImgSettings", "ImgStore", "ImgSystem",
      "ImgTransport", "ImgWire",
    ]),
    "ImgCommands": platform.union([
      "ImgClient", "ImgFacts", "ImgModel", "ImgSettings", "ImgSystem",
    ]),

    "ImgGateway": platform.union([
      "ImgClient", "ImgCollections", "ImgCrypto", "ImgFacts", "ImgHTTP", "ImgModel",
      "ImgSandbox", "ImgSettings", "ImgSystem",
    ]),

    "imgctl": platform.union(["ImgCommands"]),
    "imggateway": platform.union(["ImgGateway"]),
    "imgcoordinator": platform.union(["ImgCoordinator"]),
    "imgworker": platform.union(["ImgWorker"]),
    "imgdecoder": platform.union(["ImgDecoder"]),
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
    #expect(
      manifest.targets.map(\.dependencies) == [[], ["CThing", "Other"], ["Thing"], []])
  }
}
