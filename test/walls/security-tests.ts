import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A row of a table of threats. */
const threat = /^\| (?!Threat|-)(?<name>.+?) \|.*$/gm

/** A link in such a row: a part of the title of a test, and the file of the test. */
const link = /\[(?<words>[^\]]+)\]\((?<file>[^)]+\.test\.ts)\)/g

/** The title of a test, as a source has it. */
const title = /\btest\(\s*(?<quote>['"`])(?<name>.*?[^\\])\k<quote>/g

/**
 * Checks that each threat in SECURITY.md names the tests that hold its protection, and that there are these tests.
 *
 * @returns one line for each threat without a test, and for each test that is not there
 */
export function checkSecurityTests(root: string): string[] {
  const [, threats = ''] = readFileSync(join(root, 'SECURITY.md'), 'utf8').split(
    '## Threats and protections\n',
  )
  const [tables = ''] = threats.split(/^## /m)
  return [...tables.matchAll(threat)].flatMap(([row, name]) => {
    const tests = [...row.matchAll(link)]
    if (tests.length === 0) return [`SECURITY.md: name a test that holds the row "${name}"`]
    return tests.flatMap(([, words = '', file = '']) =>
      titlesIn(join(root, file)).some((found) => found.includes(words))
        ? []
        : [`SECURITY.md: there is no test "${words}" in ${file}; name a test that holds the row "${name}"`],
    )
  })
}

function titlesIn(file: string): string[] {
  if (!existsSync(file)) return []
  return [...readFileSync(file, 'utf8').matchAll(title)].map(({ groups }) => groups?.name ?? '')
}
