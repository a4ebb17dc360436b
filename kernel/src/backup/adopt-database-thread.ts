import { parentPort, workerData } from 'node:worker_threads'
import { adoptDatabase } from './adopt-database.ts'

/** The data that the thread is started with. */
export interface AdoptionOrder {
  readonly file: string
  readonly moment: number
}

const { file, moment } = workerData as AdoptionOrder
parentPort?.postMessage(adoptDatabase(file, moment))
