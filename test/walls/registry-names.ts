import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A command with which npm, pnpm, Yarn or Bun takes packages from the registry, to its end. */
const registryCommand =
  /\b(?:npx|pnpx|bunx|(?:npm|pnpm|yarn|bun) (?:global add|install|i|add|exec|x|dlx|init|create))\b(?: [^\n`"']*)?/g

/** A name of ours as the registry has it. A path of a packed package is none. */
const ownName = /(?<=\s)(?:--package=)?(?:@nodekeep\/|(?:create-)?nodekeep)[^\s]*/

/**
 * Checks that no text tells people to take a package of ours from npm's registry. None is published: whoever registers the name
 * decides what runs.
 *
 * @returns one line for each such command
 */
export function checkRegistryNames(root: string): string[] {
  const exclude = (path: string) => /(^|\/)(node_modules|dist|bundle|\.git)$/.test(path)
  const files = globSync('**/*.{md,ts,js,cjs,mjs,json,html,css,sh}', { cwd: root, exclude })
  return files.sort().flatMap((file) => {
    const commands = readFileSync(join(root, file), 'utf8').matchAll(registryCommand)
    return [...commands].flatMap(([command]) =>
      ownName.test(command)
        ? [
            `${file}: "${command.trim()}" names a package that is not published; name a file of \`npm run pack\``,
          ]
        : [],
    )
  })
}
