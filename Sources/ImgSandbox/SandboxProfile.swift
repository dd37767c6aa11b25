/// What a process may do once it has started: a description, which ``Sandbox`` puts in force.
package struct SandboxProfile: Hashable, Sendable {
  package let systemCalls: SystemCallRules
  package let access: AccessRules
}
