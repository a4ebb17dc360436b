import { useSignal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import { reasonOf } from '../../request.ts'
import type { Folder } from './folder.ts'

/** Milliseconds without a change after which the node is asked again: an upload of many files makes many. */
const pauseMs = 300

interface FolderQuestion<T> {
  /** A file or folder. Default: the folder that is shown. `null`: the node is not asked. */
  readonly path?: string | null | undefined
  ask(path: string, signal: AbortSignal): Promise<T>
  /** Milliseconds after which the node is asked again, although nothing has changed; `null` for never. */
  againMs?(answer: T): number | null
}

/** An answer of the node about a file or folder. */
export interface FolderAnswer<T> {
  /** `null` until there is one. */
  readonly answer: T | null
  /** The reason why the last one failed; empty if it did not. */
  readonly fault: string
}

/** Asks the node about the folder that is shown, or something in it, and again after changes. */
export function useFolderAnswer<T>(folder: Folder, question: FolderQuestion<T>): FolderAnswer<T> {
  const { ask, againMs, path = folder.path.value } = question
  const shown = useSignal<{ readonly path: string; readonly answer: T } | null>(null)
  const fault = useSignal('')
  useLayoutEffect(() => {
    if (path === null) return
    const ended = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const load = async () => {
      try {
        const answer = await ask(path, ended.signal)
        if (ended.signal.aborted) return
        shown.value = { path, answer }
        fault.value = ''
        const ms = againMs?.(answer) ?? null
        if (ms !== null) timer = setTimeout(load, ms)
      } catch (error) {
        if (!ended.signal.aborted) fault.value = reasonOf(error)
      }
    }
    // A person who walks through the entries with the keys asks about the last one only.
    timer = setTimeout(load, shown.value === null ? 0 : pauseMs)
    return () => {
      clearTimeout(timer)
      ended.abort()
    }
  }, [path, folder.changes.value])
  const answer = shown.value?.path === path ? shown.value.answer : null
  return { answer, fault: fault.value }
}
