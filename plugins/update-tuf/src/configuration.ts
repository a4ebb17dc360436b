import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Checked, FilePath, Type } from '@nodekeep/plugin-sdk'

/** The section `update-tuf` of the configuration. */
export const configuration = Type.Object({
  url: Type.Optional(
    Checked(urlProblem, {
      description:
        'The repository with the releases: an address with http or https, or the absolute path of a folder. Without it, there is no source of updates.',
    }),
  ),
  root: Type.Optional(
    FilePath({
      description:
        'A file with the root keys of the repository (`root.json`), instead of that of the release.',
    }),
  ),
})

/** Reads the address of a repository. Its path ends with a slash. Returns `null` if it is no address of one. */
export function repositoryUrl(text: string): URL | null {
  const url = isAbsolute(text) ? pathToFileURL(text) : URL.parse(text)
  if (url === null || !['http:', 'https:', 'file:'].includes(url.protocol)) return null
  if (url.username !== '' || url.password !== '' || /[?#]/.test(url.href)) return null
  if (!url.pathname.endsWith('/')) url.pathname += '/'
  return url
}

function urlProblem(text: string): string | null {
  return repositoryUrl(text) === null
    ? 'is no address of a repository. Write one such as "https://updates.example.org/nodekeep", without user, "?" and "#", or the absolute path of a folder.'
    : null
}
