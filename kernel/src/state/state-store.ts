import type { StateStore } from '@nodekeep/plugin-sdk'
import { Keyv } from 'keyv'
import { createKeyvAdapter, type Query } from './keyv-adapter.ts'
import { checkKey, checkTtl, checkValue } from './state-input.ts'

/**
 * A plugin's store: a keyv namespace over the given statements.
 *
 * Nothing listens to keyv's `error` event, and so keyv throws instead of answering `undefined` or `false`.
 */
export function createStateStore(namespace: string, query: Query): StateStore {
  const keyv = new Keyv({
    namespace,
    store: createKeyvAdapter(query),
    serialization: { stringify: JSON.stringify, parse: JSON.parse },
    // The adapter looks at the times itself; a second look would delete what was set in between.
    checkExpired: false,
  })
  // The adapter takes one leading "namespace:" off each key. With it always there, a key that looks so stays whole.
  const stored = (key: string): string => {
    checkKey(key)
    return `${namespace}:${key}`
  }

  return {
    async get<T>(key: string) {
      return (await keyv.get(stored(key))) as T | undefined
    },
    async set(key, value, ttlMs) {
      checkValue(value)
      checkTtl(ttlMs)
      await keyv.set(stored(key), value, ttlMs)
    },
    async delete(key) {
      return await keyv.delete(stored(key))
    },
    async has(key) {
      return await keyv.has(stored(key))
    },
    async *entries<T>() {
      for await (const [key, value] of keyv.iterator()) yield [key as string, value as T] as const
    },
    async clear() {
      await keyv.clear()
    },
  }
}
