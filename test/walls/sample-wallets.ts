import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const pastedOwner = /(?:--wallet[ =]|"owner": ?"|set-wallet \S+ )0x[0-9a-f]{40}\b/gi

/**
 * Checks that no document names a real address as the wallet of an owner. A reader who pastes such a line makes a
 * stranger's wallet the owner. The command refuses a placeholder.
 *
 * @returns one line for each such address
 */
export function checkSampleWallets(root: string): string[] {
  const documents = globSync('**/*.md', { cwd: root, exclude: (name) => /(^|\/)node_modules$/.test(name) })
  return documents.sort().flatMap((file) => {
    const text = readFileSync(join(root, file), 'utf8')
    return [...text.matchAll(pastedOwner)].map(
      ([found]) => `${file}: "${found}" names a real wallet; write a placeholder`,
    )
  })
}
