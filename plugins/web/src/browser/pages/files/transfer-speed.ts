import { useSignal } from '@preact/signals'
import { useLayoutEffect } from 'preact/hooks'
import type { Tasks } from './tasks.ts'

/** Milliseconds between two looks. */
const lookMs = 500

/** Looks that the speed is an average of. */
const mostLooks = 20

/** The looks before the speed is told. */
const fewestLooks = 4

interface TransferState {
  /** Bytes of the uploads that were begun together: those that the node has, and all. */
  readonly sent: number
  readonly total: number
  /** Bytes in a second; `null` until it is known. */
  readonly speed: number | null
}

/** Follows how far the uploads are, and how fast, while some run. */
export function useTransferState(tasks: Tasks, isRunning: boolean): TransferState {
  const state = useSignal<TransferState>({ ...tasks.transfer, speed: null })
  useLayoutEffect(() => {
    const looks: { readonly at: number; readonly bytes: number }[] = []
    const look = () => {
      looks.push({ at: performance.now(), bytes: tasks.sentBytes })
      if (looks.length > mostLooks) looks.shift()
      state.value = { ...tasks.transfer, speed: speedOf(looks) }
    }
    look()
    if (!isRunning) return
    const timer = setInterval(look, lookMs)
    return () => clearInterval(timer)
  }, [isRunning])
  return state.value
}

function speedOf(looks: readonly { readonly at: number; readonly bytes: number }[]): number | null {
  const [first] = looks
  const last = looks.at(-1)
  if (first === undefined || last === undefined || looks.length < fewestLooks) return null
  return (1000 * (last.bytes - first.bytes)) / (last.at - first.at)
}
