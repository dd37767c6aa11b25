/// One setting: its flag and variable, its meaning, and how its text is read and written. Flags,
/// variables, help and the table of limits all come from ``all``.
package struct Setting: Sendable {
  /// The name in the table of limits.
  package let name: String
  package let option: OptionDescription
  /// The option of a command that changes the setting of a running coordinator. Its help names no
  /// default, because without the option the setting stays as it is.
  package let changeOption: OptionDescription
  /// The default in the help.
  package let defaultText: String
  /// Whether ``Limits`` contains it.
  package let isLimit: Bool
  /// Whether its value may be a secret. Then ``texts(in:)`` are for people, and other programs get the
  /// value by ``Settings/environment``.
  private let isSecret: Bool

  private let set: @Sendable (inout Settings, [String]) throws(InvalidValue) -> Void
  private let get: @Sendable (Settings) -> [String]

  /// - Parameters:
  ///   - defaultText: `nil` for the text of the default value.
  ///   - set: reads the given texts, exactly one unless the setting is repeatable.
  ///   - get: returns the texts that `set` reads; none if the setting is not set.
  init(
    _ name: String, _ flag: String, _ placeholder: String?, default defaultText: String? = nil,
    help: String, isRepeatable: Bool = false, isLimit: Bool = false, isSecret: Bool = false,
    set: @escaping @Sendable (inout Settings, [String]) throws(InvalidValue) -> Void,
    get: @escaping @Sendable (Settings) -> [String]
  ) {
    let defaultText =
      defaultText
      ?? get(Settings(socketPath: "", dataDirectory: "")).joined(separator: ", ")
    self.name = name
    self.defaultText = defaultText
    self.isLimit = isLimit
    self.isSecret = isSecret
    self.set = set
    self.get = get
    option = OptionDescription(
      flag, placeholder, help: "\(help) Default: \(defaultText).", isRepeatable: isRepeatable)
    changeOption = OptionDescription(flag, placeholder, help: help, isRepeatable: isRepeatable)
  }

  /// A setting that is on or off, and off by default. Its flag has no value; its variable is yes or
  /// no.
  init(
    _ name: String, _ flag: String, help: String,
    isOn: any WritableKeyPath<Settings, Bool> & Sendable
  ) {
    self.init(
      name, flag, nil, help: help,
      set: { (settings, texts) throws(InvalidValue) in
        // The flag has the empty text, the variable never.
        settings[keyPath: isOn] = texts[0].isEmpty ? true : try YesOrNo.value(parsing: texts[0])
      },
      get: { [YesOrNo.text($0[keyPath: isOn])] })
  }

  /// See ``OptionDescription/environmentVariable``.
  package var environmentVariable: String { option.environmentVariable }

  /// The arguments that set what is set in `settings`.
  func arguments(for settings: Settings) -> [String] {
    guard !isSecret else { return [] }
    let texts = texts(in: settings)
    guard option.placeholder == nil else { return texts.flatMap { [option.flag, $0] } }
    return texts == [YesOrNo.text(true)] ? [option.flag] : []
  }

  /// The texts of the value in `settings`; none if it is not set.
  package func texts(in settings: Settings) -> [String] {
    get(settings)
  }

  /// Sets the value in `settings` from the flag, else from the variable.
  ///
  /// In the variable of a repeatable setting, commas separate the values.
  func read(
    from arguments: ArgumentReader, environment: [String: String], into settings: inout Settings
  ) throws(UsageError) {
    guard let given = GivenTexts(of: option, in: arguments, environment) else { return }
    try put(given.texts, from: given.source, into: &settings)
  }

  /// Reads the texts of the flag or variable `source`.
  func put(
    _ texts: [String], from source: String, into settings: inout Settings
  ) throws(UsageError) {
    do {
      try set(&settings, texts)
    } catch {
      throw UsageError(source, error)
    }
  }
}

extension Setting {
  /// The options of a program that takes every setting.
  package static let options = all.map(\.option)

  /// The note below the options of a command that takes settings.
  package static let note =
    "Each setting may also come from an environment variable, such as IMGCTL_DATA_DIR for "
    + "--data-dir. A flag overrides its variable. Durations are 500ms, 30s, 10m, 2h, 1.5d, or 0.25 "
    + "in seconds; sizes are 64K, 100M or 2G, where 1K is 1,024 bytes."

  /// One line of the table that `imgctl status --limits` prints.
  package struct Row: Hashable, Sendable {
    package let name: String
    package let flag: String
    /// `-` if nothing is set and the default applies.
    package let value: String
    package let defaultText: String
  }

  /// The settings of a coordinator with the defaults: limits first.
  package static func rows(of settings: Settings) -> [Row] {
    (all.filter(\.isLimit) + all.filter { !$0.isLimit }).map { setting in
      let texts = setting.texts(in: settings)
      return Row(
        name: setting.name, flag: setting.option.flag,
        value: texts.isEmpty ? "-" : texts.joined(separator: ", "),
        defaultText: setting.defaultText)
    }
  }
}
