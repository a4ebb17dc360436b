import { join, relative } from 'node:path'
import { SyntaxKind } from 'typescript/unstable/ast'
import { API, type Project, SymbolFlags } from 'typescript/unstable/sync'

/** A TypeScript file and its imports, those of types and dynamic ones included. */
export interface SourceImports {
  /** The path from the root, `/`-separated. */
  readonly file: string
  readonly imports: readonly string[]
}

/** An export of a module. */
export interface ExportedName {
  readonly name: string
  /** The file of its declaration, from the root; a file of a library if the library declares it. */
  readonly file: string
  readonly documented: boolean
}

/** The compiler's knowledge of the files of a repository's `tsconfig.json`. */
export interface SourceProgram {
  readonly files: readonly SourceImports[]
  exportsOf(file: string): ExportedName[]
}

/** Calls `read` with the compiler, which runs in a process of its own until `read` returns. */
export function withProgram<T>(root: string, read: (program: SourceProgram) => T): T {
  const api = new API({ cwd: root })
  try {
    const [project] = api.updateSnapshot({ openProject: join(root, 'tsconfig.json') }).getProjects()
    if (!project) throw new Error(`${join(root, 'tsconfig.json')} could not be opened.`)
    return read({
      files: project.rootFiles.map((file) => ({
        file: fromRoot(root, file),
        imports: importsOf(project, file),
      })),
      exportsOf: (file) => exportsOf(project, root, join(root, file)),
    })
  } finally {
    api.close()
  }
}

function importsOf(project: Project, file: string): string[] {
  const imports = project.program.getSourceFile(file)?.imports ?? []
  return imports.flatMap((node) =>
    node.kind === SyntaxKind.StringLiteral ? [(node as { text?: string }).text ?? ''] : [],
  )
}

function exportsOf({ program, checker }: Project, root: string, file: string): ExportedName[] {
  const source = program.getSourceFile(file)
  const module = source && checker.getSymbolAtLocation(source)
  if (!module) return []
  return checker.getExportsOfModule(module).map((exported) => {
    const symbol = exported.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported
    const path = symbol.declarations?.[0]?.path
    return {
      name: exported.name,
      file: path === undefined ? '' : fromRoot(root, path),
      documented: checker.getDocumentationCommentOfSymbol(symbol) !== '',
    }
  })
}

function fromRoot(root: string, file: string): string {
  return relative(root, file).replaceAll('\\', '/')
}
