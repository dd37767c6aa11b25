package import ImgModel

/// The settings of a running coordinator: what it tells of them, and how they differ from others.
extension Settings {
  /// What a coordinator tells beside its limits and places.
  ///
  /// - Parameter workerExecutable: the program that it runs.
  package func told(workerExecutable: String) -> CoordinatorSettings {
    CoordinatorSettings(
      workerExecutable: workerExecutable, idleExitMilliseconds: idleExitMilliseconds,
      allowedNetworks: allowedNetworks.map(\.text), allowedDirectories: allowedDirectories,
      authorityFile: authorityFile)
  }

  /// The settings of the coordinator that tells this.
  ///
  /// - Throws: for what no coordinator of this release tells.
  package init(runningAs cluster: ClusterStatus) throws(InvalidValue) {
    self.init(socketPath: cluster.socketPath, dataDirectory: cluster.dataDirectory)
    limits = cluster.limits
    workerExecutable = cluster.settings.workerExecutable
    idleExitMilliseconds = cluster.settings.idleExitMilliseconds
    for text in cluster.settings.allowedNetworks {
      allowedNetworks.append(try NetworkRange(parsing: text))
    }
    allowedDirectories = cluster.settings.allowedDirectories
    authorityFile = cluster.settings.authorityFile
  }
}

extension Setting {
  /// A setting that was asked for and is not what a coordinator runs with.
  package struct Difference: Hashable, Sendable {
    package let name: String
    package let flag: String
    package let asked: String
    package let running: String
    /// Whether it can be changed while the coordinator runs, see ``LimitChange``.
    package let isChangeable: Bool
  }

  /// Those settings whose flag or variable is given. The order of a list does not matter.
  ///
  /// - Parameters:
  ///   - asked: what the arguments and the environment say, resolved.
  ///   - coreCount: as many workers as `auto` stands for.
  package static func differences(
    between asked: Settings, givenBy arguments: ArgumentReader, environment: [String: String],
    and running: Settings, coreCount: Int
  ) -> [Difference] {
    var asked = asked
    if asked.limits.workers == 0 { asked.limits.workers = coreCount }
    return all.filter { $0.isGiven(by: arguments, environment: environment) }.compactMap {
      let texts = [asked, running].map($0.texts)
      guard Set(texts[0]) != Set(texts[1]) else { return nil }
      let shown = texts.map { $0.isEmpty ? "none" : $0.joined(separator: ", ") }
      return Difference(
        name: $0.name, flag: $0.option.flag, asked: shown[0], running: shown[1],
        isChangeable: changeable.map(\.option.flag).contains($0.option.flag))
    }
  }

  private func isGiven(by arguments: ArgumentReader, environment: [String: String]) -> Bool {
    arguments.lists(option) && arguments.texts(of: option) != nil
      || environment[environmentVariable].map { !$0.isEmpty } ?? false
  }
}
