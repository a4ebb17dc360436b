import { DatabaseSync, type SQLOutputValue } from 'node:sqlite'
import { isDeepStrictEqual } from 'node:util'
import { createSql, type Row } from '../state/sql.ts'

/**
 * Runs a step that is declared as `expand` on the tables of a SQLite database, and lists what breaks the promise that the
 * version before it can still use the database.
 *
 * It finds what changed in tables, columns, indexes, triggers, foreign keys and rows. It cannot know the statements of the
 * version before: those must name the columns that they insert, and every table of a column in a join.
 *
 * @param file a database with rows in every table, as the version before left it, which nothing else has open
 * @param up the step; it gets a connection with foreign keys enabled
 * @returns one line for each problem
 * @example
 * t.same(expansionProblems(file, (connection) => connection.exec('ALTER TABLE notes ADD COLUMN color TEXT')), [])
 */
export function expansionProblems(file: string, up: (connection: DatabaseSync) => void): string[] {
  const before = withConnection(file, readDatabase)
  withConnection(file, up)
  // A connection of its own has none of the functions that the step may have defined on the other one.
  return withConnection(file, (connection) => [
    ...objectProblems(before, readDatabase(connection), connection),
    ...statementProblems(connection, before),
  ])
}

interface SchemaObject {
  readonly type: string
  readonly name: string
  readonly table: string
  /** `null` for the index of a constraint. */
  readonly sql: string | null
}

interface Table {
  readonly name: string
  readonly sql: string
  readonly columns: readonly Row[]
  readonly foreignKeys: readonly Row[]
  /** The names of the unique indexes. */
  readonly unique: readonly string[]
  /** In an order that does not depend on when a row was written. */
  readonly rows: readonly (readonly SQLOutputValue[])[]
}

interface Described {
  readonly objects: readonly SchemaObject[]
  readonly tables: ReadonlyMap<string, Table>
}

function withConnection<T>(file: string, work: (connection: DatabaseSync) => T): T {
  const connection = new DatabaseSync(file, { enableForeignKeyConstraints: true })
  try {
    return work(connection)
  } finally {
    connection.close()
  }
}

function readDatabase(connection: DatabaseSync): Described {
  const sql = createSql(connection)
  const objects = sql
    .all(
      "SELECT type, name, tbl_name AS 'table', sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!'",
    )
    .map((row) => ({ ...row }) as unknown as SchemaObject)
  const tables = objects
    .filter(({ type }) => type === 'table')
    .map(({ name, sql: definition }): Table => {
      const columns = sql.all('SELECT * FROM pragma_table_xinfo(?)', name)
      return {
        name,
        sql: definition ?? '',
        columns,
        foreignKeys: sql.all('SELECT * FROM pragma_foreign_key_list(?)', name),
        unique: sql
          .all('SELECT name FROM pragma_index_list(?) WHERE "unique" = 1', name)
          .map((row) => String(row.name)),
        rows: readRows(
          connection,
          name,
          columns.map((column) => String(column.name)),
        ),
      }
    })
  return { objects, tables: new Map(tables.map((table) => [table.name, table])) }
}

function readRows(
  connection: DatabaseSync,
  table: string,
  columns: readonly string[],
): (readonly SQLOutputValue[])[] {
  const order = columns.map((_, index) => index + 1).join(', ')
  const statement = connection.prepare(
    `SELECT ${columns.map(quoted).join(', ')} FROM ${quoted(table)} ORDER BY ${order}`,
  )
  statement.setReturnArrays(true)
  statement.setReadBigInts(true)
  return statement.all() as unknown as (readonly SQLOutputValue[])[]
}

function objectProblems(before: Described, after: Described, connection: DatabaseSync): string[] {
  const problems: string[] = []
  for (const old of before.tables.values()) {
    const now = after.tables.get(old.name)
    if (now === undefined) problems.push(`The table ${old.name} is gone.`)
    else problems.push(...tableProblems(old, now, before, connection))
  }
  for (const old of before.objects.filter(({ type }) => type !== 'table')) {
    const now = after.objects.find(({ type, name }) => type === old.type && name === old.name)
    if (now === undefined) problems.push(`The ${old.type} ${old.name} is gone.`)
    else if (now.sql !== old.sql) problems.push(`The ${old.type} ${old.name} is another one now.`)
  }
  for (const table of after.tables.values()) {
    if (!before.tables.has(table.name)) problems.push(...foreignKeyProblems(table, table.foreignKeys, before))
  }
  for (const { type, name, table, sql } of after.objects) {
    const isNew = !before.objects.some((old) => old.type === type && old.name === name)
    if (isNew && type === 'trigger' && before.tables.has(table) && /\braise\s*\(/i.test(sql ?? '')) {
      problems.push(`The new trigger ${name} can refuse changes of ${table}.`)
    }
  }
  return problems
}

function tableProblems(old: Table, now: Table, before: Described, connection: DatabaseSync): string[] {
  const problems: string[] = []
  const added = addition(old.sql, now.sql)
  if (added === null) problems.push(`The definition of ${old.name} changed, not only by added columns.`)
  else if (/\bcheck\b/i.test(added)) problems.push(`An added column of ${old.name} has a CHECK.`)

  const names = old.columns.map(({ name }) => String(name))
  for (const [index, column] of old.columns.entries()) {
    if (!isDeepStrictEqual({ ...now.columns[index] }, { ...column })) {
      problems.push(`The column ${column.name} of ${old.name} is gone or another one.`)
    }
  }
  const used = new Set([...before.tables.values()].flatMap(({ columns }) => columns.map(({ name }) => name)))
  for (const column of now.columns.filter(({ name }) => !names.includes(String(name)))) {
    if (column.notnull === 1 && column.dflt_value === null) {
      problems.push(`The added column ${column.name} of ${old.name} is not nullable and has no default.`)
    }
    if (used.has(column.name ?? '')) {
      problems.push(
        `The added column ${column.name} of ${old.name} has the name of an earlier column, which makes that name ambiguous in joins.`,
      )
    }
  }
  for (const name of now.unique.filter((name) => !old.unique.includes(name))) {
    problems.push(`The unique index ${name} of ${old.name} is new.`)
  }
  const foreignKeys = now.foreignKeys.slice(0, now.foreignKeys.length - old.foreignKeys.length)
  problems.push(...foreignKeyProblems(now, foreignKeys, before))
  if (names.every((name) => now.columns.some((column) => column.name === name))) {
    if (!isDeepStrictEqual(readRows(connection, old.name, names), old.rows)) {
      problems.push(`Rows of ${old.name} were changed, added or removed.`)
    }
  }
  return problems
}

/** Returns the text that was inserted at one place of a definition, or `null` if anything else changed. */
function addition(before: string, after: string): string | null {
  let start = 0
  while (start < before.length && before[start] === after[start]) start += 1
  const rest = before.length - start
  return after.length >= before.length && after.endsWith(before.slice(start))
    ? after.slice(start, after.length - rest)
    : null
}

/** A foreign key of new rows stops the version before from deleting a row that it refers to, unless it gives way. */
function foreignKeyProblems({ name }: Table, keys: readonly Row[], before: Described): string[] {
  return keys
    .filter(({ table, on_delete }) => {
      return before.tables.has(String(table)) && !['CASCADE', 'SET NULL'].includes(String(on_delete))
    })
    .map(({ table }) => `The foreign key of ${name} stops deletions from ${table}: add ON DELETE CASCADE.`)
}

/** Compiles the kinds of statements that the version before may run, with all triggers that they would start. */
function statementProblems(connection: DatabaseSync, before: Described): string[] {
  return [...before.tables.values()].flatMap(({ name, columns }) => {
    const written = columns.filter(({ hidden }) => hidden === 0).map((column) => quoted(String(column.name)))
    const statements = [
      `INSERT INTO ${quoted(name)} (${written.join(', ')}) VALUES (${written.map(() => 'NULL').join(', ')})`,
      `UPDATE ${quoted(name)} SET ${written.map((column) => `${column} = NULL`).join(', ')}`,
      `DELETE FROM ${quoted(name)}`,
    ]
    return statements.flatMap((statement) => {
      try {
        connection.prepare(statement)
        return []
      } catch (error) {
        return [
          `The former statement ${statement.split(' ', 1)[0]} on ${name} fails: ${(error as Error).message}.`,
        ]
      }
    })
  })
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
