import { parentPort, workerData } from 'node:worker_threads'
import { cleanState } from './clean-state.ts'

/** The data that the thread is started with. */
export interface CleaningOrder {
  readonly from: string
  readonly to: string
  readonly moment: number
}

const { from, to, moment } = workerData as CleaningOrder
parentPort?.postMessage(cleanState(from, to, moment))
