import { parentPort, workerData } from 'node:worker_threads'
import { migrateRestoredDatabase } from './migrate-restored-database.ts'

/** The data that the thread is started with. */
export interface MigrationOrder {
  readonly file: string
  readonly moment: number
}

const { file, moment } = workerData as MigrationOrder
parentPort?.postMessage(migrateRestoredDatabase(file, moment))
