/** The folder that something is in, `/` for the top, and its name there. */
export function splitPath(path: string): { readonly folder: string; readonly name: string } {
  const slash = path.lastIndexOf('/')
  return { folder: path.slice(0, slash) || '/', name: path.slice(slash + 1) }
}
