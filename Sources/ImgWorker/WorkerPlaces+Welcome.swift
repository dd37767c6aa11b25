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
    let directories = Set(Self.stores(welcome).compactMap(WritablePlace.around)).sorted()
    let takesSpoolFiles = directories.contains { (try? SpoolFile(in: $0)) != nil }
    self.init(
      dataDirectories: directories,
      spoolDirectories: takesSpoolFiles ? [] : [Self.spareSpoolDirectory],
      allowedDirectories: welcome.allowedDirectories, authorityFile: welcome.authorityFile)
  }

  /// What the log should say of the places; `nil` for nothing.
  static func remark(on welcome: Welcome) -> String? {
    stores(welcome).first { WritablePlace.around($0) == $0 }.map {
      "\($0) lies in /, where no worker may write: the store is emptied in place instead of replaced"
    }
  }

  /// The paths of the store: as it is given, and without symbolic links.
  private static func stores(_ welcome: Welcome) -> [String] {
    let store = welcome.storeDirectory
    return [store] + [try? Directory.resolve(store)].compactMap(\.self)
  }
}
