/** Characters of a name that a message has room for. */
const longest = 100

/** A name for a message: names may be as long as a module or a request. */
export function shortened(name: string): string {
  return name.length <= longest ? name : `${name.slice(0, longest)}…`
}
