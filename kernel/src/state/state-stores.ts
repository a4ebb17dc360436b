import type { SQLInputValue } from 'node:sqlite'
import type { Log, StateStore } from '@nodekeep/plugin-sdk'
import { Keyv } from 'keyv'
import { KeyvSqlite } from '#keyv-sqlite'
import type { StateDatabase } from './database.ts'
import type { Row } from './sql.ts'

/** How often expired entries are removed from the file. Before that they take space, but are never returned. */
const sweepMs = 10 * 60 * 1000

/** The stores of all plugins in one database. It removes expired entries every ten minutes. */
export class StateStores {
  readonly #database: StateDatabase
  readonly #stores = new Map<string, StateStore>()
  readonly #timer: NodeJS.Timeout

  constructor(database: StateDatabase, log: Log) {
    this.#database = database
    const sweep = (): void => {
      removeExpired(database).catch((err: unknown) =>
        log.warn({ err }, 'Expired state could not be removed.'),
      )
    }
    this.#timer = setInterval(sweep, sweepMs).unref()
  }

  /** Returns the store of one plugin instance, by the id under which configuration loads it. */
  for(namespace: string): StateStore {
    const known = this.#stores.get(namespace)
    if (known) return known
    const created = createStateStore(
      namespace,
      (statement, ...parameters) => this.#database.use((sql) => sql.all(statement, ...parameters)),
      (work) =>
        this.#database.exclusiveTransaction((sql) =>
          work(async (statement, ...parameters) => sql.all(statement, ...parameters)),
        ),
    )
    this.#stores.set(namespace, created)
    return created
  }

  /** Stops the removal of expired entries. The database stays open. */
  close(): void {
    clearInterval(this.#timer)
  }
}

/** Removes expired entries, a thousand at a time, so that other statements do not wait long. */
export async function removeExpired(database: StateDatabase): Promise<void> {
  const now = Date.now()
  let removed = 0
  do {
    removed = await database.use((sql) =>
      sql.run(
        'DELETE FROM state WHERE rowid IN (SELECT rowid FROM state WHERE expires <= ? LIMIT 1000)',
        now,
      ),
    )
    await new Promise((resolve) => setImmediate(resolve))
  } while (removed === 1000)
}

/** Runs one statement and returns its rows. */
export type Query = (statement: string, ...parameters: SQLInputValue[]) => Promise<Row[]>

/** The longest key of a plugin's state, in UTF-16 units. Other databases behind keyv limit the column too. */
const maxKeyLength = 1024

/**
 * Makes a plugin's store: a keyv namespace over the given statements.
 *
 * Nothing listens to keyv's `error` event. Keyv therefore throws, and does not return `undefined` or `false`.
 *
 * @param transaction runs work while nobody else can write; by default, nobody else can anyway
 */
export function createStateStore(
  namespace: string,
  query: Query,
  transaction: (work: (query: Query) => Promise<boolean>) => Promise<boolean> = (work) => work(query),
): StateStore {
  let opened: Keyv | undefined
  /** Keyv runs statements when it is made, so it is made at the first use. */
  const keyv = () => {
    opened ??= new Keyv({
      namespace,
      store: createKeyvAdapter(query),
      serialization: { stringify: JSON.stringify, parse: JSON.parse },
      // The adapter below filters expired rows. Keyv's own check would delete a value that was set in between.
      checkExpired: false,
    })
    return opened
  }
  // The adapter strips one leading "namespace:" from each key. Adding one keeps a key that begins so by itself whole.
  const stored = (key: string): string => {
    checkKey(key)
    return `${namespace}:${key}`
  }

  return {
    async get<T>(key: string) {
      return (await keyv().get(stored(key))) as T | undefined
    },
    async set(key, value, ttlMs) {
      checkValue(value)
      checkTtl(ttlMs)
      await keyv().set(stored(key), value, ttlMs)
    },
    async add(key, value, ttlMs) {
      checkValue(value)
      checkTtl(ttlMs)
      return transaction(async (within) => {
        const store = createStateStore(namespace, within)
        if (await store.has(key)) return false
        await store.set(key, value, ttlMs)
        return true
      })
    },
    async delete(key) {
      return await keyv().delete(stored(key))
    },
    async has(key) {
      return await keyv().has(stored(key))
    },
    async *entries<T>() {
      for await (const [key, value] of keyv().iterator()) yield [key as string, value as T] as const
    },
    async clear() {
      await keyv().clear()
    },
  }
}

/**
 * Runs keyv's SQLite adapter on our own connection, so that the process has one SQLite library and one connection.
 *
 * The adapter never sees expired rows: it would delete them in a second statement, which could hit a value that was
 * set in between.
 */
function createKeyvAdapter(query: Query): KeyvSqlite {
  const isAlive = ({ expires }: Row) => typeof expires !== 'number' || expires > Date.now()
  return new KeyvSqlite({
    table: 'state',
    iterationLimit: 200,
    driver: {
      name: 'custom',
      connect: async () => ({
        query: async (statement, ...parameters) =>
          (await query(statement, ...(parameters as SQLInputValue[]))).filter(isAlive),
        close: async () => {},
      }),
    },
  })
}

/**
 * @throws TypeError when the key is not a string, is empty, or has half of a surrogate pair, which UTF-8 cannot hold
 * @throws RangeError when the key is too long
 */
function checkKey(key: unknown): asserts key is string {
  if (typeof key !== 'string') throw new TypeError(`A state key is a string, not ${typeof key}.`)
  if (key === '') throw new TypeError('A state key has at least one character.')
  if (!key.isWellFormed()) throw new TypeError('A state key must be well-formed Unicode.')
  if (key.length > maxKeyLength) {
    throw new RangeError(
      `A state key has at most ${maxKeyLength} characters; this one has ${key.length}. Store a hash of it instead.`,
    )
  }
}

/** @throws TypeError when JSON cannot hold the value. Inside a value, JSON drops `undefined`. */
function checkValue(value: unknown): void {
  if (value === undefined || typeof value === 'function' || typeof value === 'symbol') {
    throw new TypeError(
      `A state value is anything that JSON can hold, not ${typeof value}. Use delete() to remove a value.`,
    )
  }
}

/** @throws RangeError when the time is not a positive number of milliseconds, or ends after the last possible date */
function checkTtl(ttlMs: unknown): void {
  if (ttlMs === undefined) return
  if (typeof ttlMs !== 'number' || !(ttlMs > 0) || !Number.isSafeInteger(Math.ceil(Date.now() + ttlMs))) {
    throw new RangeError(`The time to live is a positive number of milliseconds, not ${String(ttlMs)}.`)
  }
}
