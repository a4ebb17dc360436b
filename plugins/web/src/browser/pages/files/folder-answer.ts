import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { reasonOf } from '../../request.ts'
import type { Folder } from './folder.ts'

/** Milliseconds without a change after which the node is asked again: an upload of many files makes many. */
const pauseMs = 300

interface FolderQuestion<T> {
  /** The node is not asked until this is true. */
  readonly isAsked: boolean
  ask(path: string, signal: AbortSignal): Promise<T>
  /** Milliseconds after which the node is asked again, although nothing has changed; `null` for never. */
  againMs?(answer: T): number | null
}

/**
 * Asks the node about the folder that is shown, and again after changes.
 *
 * @returns the answer, `null` until there is one, and the reason why the last one failed, empty if it did not
 */
export function useFolderAnswer<T>(
  folder: Folder,
  { isAsked, ask, againMs }: FolderQuestion<T>,
): { readonly answer: T | null; readonly fault: string } {
  const shown = useSignal<{ readonly path: string; readonly answer: T } | null>(null)
  const fault = useSignal('')
  const path = folder.path.value
  useEffect(() => {
    if (!isAsked) return
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
    timer = setTimeout(load, shown.value?.path === path ? pauseMs : 0)
    return () => {
      clearTimeout(timer)
      ended.abort()
    }
  }, [isAsked, path, folder.changes.value])
  const answer = shown.value?.path === path ? shown.value.answer : null
  return { answer, fault: fault.value }
}
