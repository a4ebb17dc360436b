export type { LogLevel } from '../log/levels.ts'
export type { PluginDescription } from '../plugins/describe-plugin.ts'
export { createTestNode, type TestNode, type TestNodeOptions, type TestUser } from './create-test-node.ts'
export { expansionProblems, stateExpansionProblems } from './expansion-problems.ts'
