import type { StorageDriver } from '@nodekeep/plugin-sdk'
import type { S3Store } from './s3-store.ts'

/** S3 tells nobody of changes, so the whole bucket is compared at intervals. */
export function watchAtIntervals(store: S3Store, everyMs: number): Required<StorageDriver>['watch'] {
  return async (listener, signal) => {
    const storageId = await store.storageId(signal)
    const timer = setInterval(() => listener('/'), everyMs).unref()
    signal.addEventListener('abort', () => clearInterval(timer), { once: true })
    return { storageId }
  }
}
