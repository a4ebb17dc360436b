export { OrphanGuard } from './sandbox-process/orphan-guard.ts'
export {
  memoryLimitReached,
  runtimeStopped,
  sandboxEnded,
  timeLimitReached,
} from './sandbox-process/run-failures.ts'
export {
  SandboxProcess,
  type SandboxProcessListener,
  type SandboxProcessOptions,
} from './sandbox-process/sandbox-process.ts'
