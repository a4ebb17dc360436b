/** Programs that run a node in a process of its own. They need nothing but Node. */
export { type NodeSources, type RestartOptions, restartOnChange } from './node-process/restart-on-change.ts'
export { startTrialNode, type TrialNodeOptions } from './node-process/trial-node.ts'
