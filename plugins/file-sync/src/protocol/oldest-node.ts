/** Returns the oldest major version of Node that runs a package with these `engines`, such as `{ node: '>=24' }`. */
export function oldestNode({ node }: { readonly node: string }): number {
  return Number(node.replace('>=', ''))
}
