import { DatabaseSync } from 'node:sqlite'
import type { Migration } from '@nodekeep/plugin-sdk'
import { stateTables } from '../state/schema.ts'
import { createSql } from '../state/sql.ts'
import { createStateStore } from '../state/state-stores.ts'

/**
 * Runs a plugin's migration that is declared as `expand` on a filled state, and lists what breaks the promise that the
 * version before it can still use the state: an entry that is gone, or a value that lost or changed something.
 *
 * @param entries the state as the version before left it
 * @returns one line for each problem
 */
export async function stateExpansionProblems(
  entries: Readonly<Record<string, unknown>>,
  { up }: Pick<Migration, 'up'>,
): Promise<string[]> {
  const connection = new DatabaseSync(':memory:')
  try {
    for (const step of stateTables) step.up(connection)
    const sql = createSql(connection)
    const state = createStateStore('state', async (text, ...values) => sql.all(text, ...values))
    for (const [key, value] of Object.entries(entries)) await state.set(key, value)
    await up(state)
    const problems: string[] = []
    for (const [key, value] of Object.entries(entries)) {
      const now = await state.get(key)
      if (now === undefined) problems.push(`The entry "${key}" is gone.`)
      else if (!contains(now, value)) problems.push(`The value of "${key}" lost or changed something.`)
    }
    return problems
  } finally {
    connection.close()
  }
}

/** Whether a JSON value is another one, perhaps with more fields in its objects. */
function contains(now: unknown, before: unknown): boolean {
  if (Array.isArray(before)) {
    return (
      Array.isArray(now) &&
      now.length === before.length &&
      before.every((value, index) => contains(now[index], value))
    )
  }
  if (typeof before !== 'object' || before === null) return Object.is(now, before)
  if (typeof now !== 'object' || now === null || Array.isArray(now)) return false
  return Object.entries(before).every(
    ([key, value]) => Object.hasOwn(now, key) && contains((now as Record<string, unknown>)[key], value),
  )
}
