export {
  ContentFailure,
  type ContentFailureReason,
  isContentFailure,
} from './sandbox-process/content-failure.ts'
export type { ContentAnswer, ContentLimits } from './sandbox-process/content-run.ts'
export {
  type ContentRunOptions,
  ContentSandbox,
  type ContentSandboxOptions,
} from './sandbox-process/content-sandbox.ts'
export { libraryFolders } from './sandbox-process/library-folders.ts'
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
