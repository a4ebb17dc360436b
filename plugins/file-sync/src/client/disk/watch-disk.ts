import { sep } from 'node:path'
import { watchFolder } from '@nodekeep/plugin-sdk/watch-folder'

interface WatchDiskOptions {
  readonly root: string
  /** The folder of the client itself. */
  readonly own: string
  /** Takes paths that may have changed. `/` stands for everything. */
  readonly onChange: (paths: readonly string[]) => void
  /** Called when the folder cannot be watched, with a sentence for the person. The whole folder is then scanned every minute. */
  readonly onTrouble: (message: string) => void
  readonly signal: AbortSignal
  /** Milliseconds between two scans of the whole folder while the system has no watches left. Default: a minute. */
  readonly pollMs?: number
}

/** Watches the synced folder until the signal aborts. It may lose changes. Resolves when it has begun. */
export async function watchDisk({
  root,
  own,
  onChange,
  onTrouble,
  signal,
  pollMs = 60_000,
}: WatchDiskOptions): Promise<void> {
  await watchFolder({
    root,
    except: own,
    onChange: (paths) => onChange(paths.map((path) => `/${path.split(sep).join('/').normalize('NFC')}`)),
    onFailure: ({ message }) => {
      onTrouble(`${message} The folder is scanned every minute.`)
      const polling = setInterval(() => onChange(['/']), pollMs)
      signal.addEventListener('abort', () => clearInterval(polling), { once: true })
    },
    signal,
  })
}
