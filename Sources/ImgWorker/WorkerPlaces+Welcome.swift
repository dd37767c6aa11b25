import ImgSandbox
import ImgSystem
import ImgWire

extension WorkerPlaces {
  /// Where `SpoolDirectories` looks next if the data directory takes no unnamed files.
  static let spareSpoolDirectory = "/tmp"

  /// The files that a worker needs for what its coordinator has told it.
  ///
  /// It writes beside the store as well as in it, because a store is replaced by a directory that is
  /// made beside it. The store may be a symbolic link to another disk.
  init(_ welcome: Welcome) {
    let store = welcome.storeDirectory
    let resolved = (try? Directory.resolve(store)) ?? store
    let directories = Set([store, resolved].map(Self.parent)).sorted()
    let takesSpoolFiles = directories.contains { (try? SpoolFile(in: $0)) != nil }
    self.init(
      dataDirectories: directories,
      spoolDirectories: takesSpoolFiles ? [] : [Self.spareSpoolDirectory],
      allowedDirectories: welcome.allowedDirectories, authorityFile: welcome.authorityFile)
  }

  private static func parent(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/"), slash > path.startIndex else { return "/" }
    return String(path[..<slash])
  }
}
