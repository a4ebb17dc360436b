/**
 * The parts of a process that commands use. Every command gets them as `process`, so that tests can run commands without a
 * process of their own.
 */
export interface CommandProcess {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean }
  readonly stdout: NodeJS.WritableStream
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean }
  readonly env: NodeJS.ProcessEnv
  exitCode?: number | string | null | undefined
  cwd(): string
  /** Calls the listener at a signal, or when the command is over. */
  once(event: NodeJS.Signals | 'exit', listener: () => void): unknown
  off(event: NodeJS.Signals, listener: () => void): unknown
}
