import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { expansionProblems } from '@nodekeep/kernel/testing'
import { test } from 'tap'
import { ConfiguredNames } from '../src/addresses/names.ts'
import { PortTable } from '../src/ports/port-table.ts'
import { RegisteredNames } from '../src/registration/registered-names.ts'
import { UsedProofs } from '../src/registration/used-proofs.ts'

/** The databases as the first release made them, with rows in all tables. Never change them: gateways have such files. */
const databases = {
  ports: `
    CREATE TABLE ports (
      port INTEGER PRIMARY KEY, node TEXT NOT NULL UNIQUE, seen INTEGER NOT NULL, stayed INTEGER NOT NULL DEFAULT 0
    ) STRICT;
    INSERT INTO ports VALUES (20000, 'a', 5, 5);`,
  names: `
    CREATE TABLE names (
      name TEXT PRIMARY KEY, node TEXT NOT NULL, address TEXT, port INTEGER, since INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX names_by_node ON names (node);
    CREATE TABLE proofs (
      node TEXT NOT NULL, nonce TEXT NOT NULL, used INTEGER NOT NULL, until INTEGER NOT NULL, PRIMARY KEY (node, nonce)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX proofs_by_end ON proofs (until);
    INSERT INTO names VALUES ('me', 'a', NULL, NULL, 5), ('you', 'b', '192.0.2.1', 443, 6);
    INSERT INTO proofs VALUES ('a', 'n', 5, 6);`,
}

test('the databases of the first release are only expanded, and are used', async (t) => {
  const folder = t.testdir({})
  const [ports, names] = Object.entries(databases).map(([name, content]) => {
    const file = join(folder, `${name}.sqlite`)
    const connection = new DatabaseSync(file)
    connection.exec(`PRAGMA journal_mode = WAL; ${content}`)
    connection.close()
    return file
  }) as [string, string]
  const openPorts = () => new PortTable(ports, { first: 20_000, last: 20_001 })
  t.same(
    expansionProblems(ports, () => openPorts().close()),
    [],
  )
  const table = openPorts()
  t.teardown(() => table.close())
  t.equal(
    table.allocate('a', new Set(), () => []),
    20_000,
  )
  t.equal(
    table.allocate('b', new Set(), () => []),
    20_001,
  )

  const openNames = (connection: DatabaseSync) => ({
    names: new RegisteredNames(connection, new ConfiguredNames({})),
    proofs: new UsedProofs(connection, 10),
  })
  t.same(
    expansionProblems(names, (connection) => void openNames(connection)),
    [],
  )
  const connection = new DatabaseSync(names)
  t.teardown(() => connection.close())
  const opened = openNames(connection)
  t.match(opened.names.find('you'), { node: 'b', address: { address: '192.0.2.1', port: 443 } })
  opened.names.claim('they', 'a', null, 5)
  opened.proofs.use({ nodeId: 'a', nonce: 'm', validUntil: 99 }, 7)
  t.same(opened.names.labelsOf('a'), ['me', 'they'])
})
