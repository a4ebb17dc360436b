import { commandName } from '../command-name.ts'
import { shellWord } from '../shell-word.ts'
import type { SyncStatus } from '../sync-engine.ts'

type State = Pick<SyncStatus, 'isConnected' | 'isIdle' | 'isPaused' | 'open' | 'heldDeletions' | 'trouble'>

/** Returns the activity of a client, in a few words. */
export function stateText({ isConnected, isPaused, isIdle, open, heldDeletions }: State): string {
  if (isPaused) return 'paused'
  if (!isConnected) return 'not connected'
  if (heldDeletions !== null) return 'waiting for you'
  return isIdle ? 'in sync' : `${open} open`
}

/** Why a client waits, and what the person can do. `null` if it does not. */
export function waitingText(folder: string, { isPaused, heldDeletions, trouble }: State): string | null {
  if (isPaused) return `${folder} is paused. To go on, run: ${commandName()} resume ${shellWord(folder)}`
  if (heldDeletions === null) return trouble
  return `${heldDeletions} files would be deleted. If that is right, stop the client and run: ${commandName()} ${shellWord(folder)} --allow-deletions`
}

/** A text for a terminal. Names of files and messages of a node may contain characters that control it. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, '\ufffd')
}
