import { join, posix, relative } from 'node:path'
import {
  type ExportDeclaration,
  type ImportDeclaration,
  type Node,
  SyntaxKind,
} from 'typescript/unstable/ast'
import { isBlock, isIdentifier } from 'typescript/unstable/ast/is'
import { API, type Symbol as ExportedSymbol, type Project, SymbolFlags } from 'typescript/unstable/sync'

/** A TypeScript file and its imports, those of types and dynamic ones included. */
export interface SourceImports {
  /** The path from the root, `/`-separated. */
  readonly file: string
  readonly imports: readonly string[]
}

/** An export of a module. */
interface ExportedName {
  readonly name: string
  /** The file of its declaration, from the root; a file of a library if the library declares it. */
  readonly file: string
  readonly documented: boolean
}

/** An export, and the names in its declarations. */
export interface Declaration {
  readonly isType: boolean
  /** Every name outside of the bodies of functions, its own included. */
  readonly names: ReadonlySet<string>
}

/** The compiler's knowledge of the files of a repository's `tsconfig.json` and `tsconfig.browser.json`. */
export interface SourceProgram {
  readonly files: readonly SourceImports[]
  /** The files that `tsconfig.browser.json` names: browser code, and parts of the SDK that browser code may import. */
  readonly browserFiles: ReadonlySet<string>
  /** Whether an import of browser code leads to Node's types, so that the compiler knows `process` there. */
  readonly browserKnowsNode: boolean
  exportsOf(file: string): ExportedName[]
  /** Returns the exports of a file by their names. */
  declarationsOf(file: string): Map<string, Declaration>
  /** Returns the names that files import from a specifier, by the path of the importing file. */
  namesImportedFrom(specifier: string): Map<string, readonly string[]>
  /** Returns the names that a file exports. */
  namesExportedBy(file: string): string[]
  /** Returns the names that files import from files of this repository by relative paths, by the path of the exporting file. */
  importedNames(): Map<string, Set<string>>
}

/** Stands for every name of a module: `import *`, `export *`, `import()`. */
export const everyName = '*'

/** The compiler runs in a process of its own. It starts at its first use, and ends with this process. */
let compiler: API | undefined

/** Calls `read` with what the compiler knows of the files, as they were at the first call for this root. */
export function withProgram<T>(root: string, read: (program: SourceProgram) => T): T {
  compiler ??= startCompiler()
  const projects = [join(root, 'tsconfig.json'), join(root, 'tsconfig.browser.json')]
  const snapshot = compiler.updateSnapshot({ openProjects: projects })
  try {
    const project = (file = '') => {
      const found = snapshot.getProject(file)
      if (!found) throw new Error(`${file} could not be opened.`)
      return found
    }
    return read(describe(root, project(projects[0]), project(projects[1])))
  } finally {
    compiler.updateSnapshot({ closeProjects: projects }).dispose()
    snapshot.dispose()
  }
}

function startCompiler(): API {
  const api = new API({ cwd: '/' })
  process.once('exit', () => api.close())
  return api
}

function describe(root: string, node: Project, browser: Project): SourceProgram {
  const projects = new Map<string, Project>()
  for (const project of [browser, node]) {
    for (const file of project.rootFiles) projects.set(fromRoot(root, file), project)
  }
  const projectOf = (file: string) => projects.get(file) ?? node
  return {
    files: [...projects].map(([file, project]) => ({
      file,
      imports: importNodes(project, join(root, file)).map(({ specifier }) => specifier),
    })),
    browserFiles: new Set(browser.rootFiles.map((file) => fromRoot(root, file))),
    browserKnowsNode: browser.program.getSourceFileNames().some((file) => file.includes('/@types/node/')),
    exportsOf: (file) => exportsOf(projectOf(file), root, join(root, file)),
    declarationsOf: (file) => declarationsOf(projectOf(file), join(root, file)),
    namesImportedFrom: (specifier) =>
      new Map(
        [...projects].map(([file, project]) => [
          file,
          importNodes(project, join(root, file)).flatMap((found) =>
            found.specifier === specifier ? found.names : [],
          ),
        ]),
      ),
    namesExportedBy: (file) => exportsOf(projectOf(file), root, join(root, file)).map(({ name }) => name),
    importedNames() {
      const found = new Map<string, Set<string>>()
      for (const [file, project] of projects) {
        for (const { specifier, names } of importNodes(project, join(root, file))) {
          if (!specifier.startsWith('.')) continue
          const target = posix.join(posix.dirname(file), specifier)
          found.set(target, (found.get(target) ?? new Set()).union(new Set(names)))
        }
      }
      return found
    },
  }
}

/** The imports and re-exports of a file, with the names that each takes. */
function importNodes(project: Project, file: string): { specifier: string; names: string[] }[] {
  const imports = project.program.getSourceFile(file)?.imports ?? []
  return imports.flatMap((node) =>
    node.kind === SyntaxKind.StringLiteral
      ? [{ specifier: (node as { text?: string }).text ?? '', names: namesTaken(node.parent) }]
      : [],
  )
}

function namesTaken(declaration: Node): string[] {
  if (declaration.kind === SyntaxKind.ImportDeclaration) {
    const { importClause } = declaration as ImportDeclaration
    const names = importClause?.name === undefined ? [] : ['default']
    return importClause?.namedBindings ? [...names, ...namesIn(importClause.namedBindings)] : names
  }
  const { exportClause } = declaration as ExportDeclaration
  return declaration.kind === SyntaxKind.ExportDeclaration && exportClause
    ? namesIn(exportClause)
    : [everyName]
}

/** The names in `{ a, b as c }`, as the other module calls them. */
function namesIn(bindings: Node): string[] {
  if (bindings.kind !== SyntaxKind.NamedImports && bindings.kind !== SyntaxKind.NamedExports)
    return [everyName]
  const { elements } = bindings as unknown as {
    elements: Iterable<Record<'propertyName' | 'name', { text: string }>>
  }
  return Array.from(elements, ({ propertyName, name }) => (propertyName ?? name).text)
}

function exportsOf(project: Project, root: string, file: string): ExportedName[] {
  return exportedSymbols(project, file).map(({ name, symbol }) => {
    const path = symbol.declarations?.[0]?.path
    return {
      name,
      file: path === undefined ? '' : fromRoot(root, path),
      documented: project.checker.getDocumentationCommentOfSymbol(symbol) !== '',
    }
  })
}

function declarationsOf(project: Project, file: string): Map<string, Declaration> {
  return new Map(
    exportedSymbols(project, file).map(({ name, symbol }) => {
      const names = symbol.declarations.flatMap((handle) => {
        const declaration = handle.resolve(project)
        return declaration === undefined ? [] : namesWithin(declaration)
      })
      return [name, { isType: !(symbol.flags & SymbolFlags.Value), names: new Set(names) }]
    }),
  )
}

/** The exports of a module, with the symbols that they stand for. */
function exportedSymbols(
  { program, checker }: Project,
  file: string,
): { name: string; symbol: ExportedSymbol }[] {
  const source = program.getSourceFile(file)
  const module = source && checker.getSymbolAtLocation(source)
  if (!module) return []
  return checker.getExportsOfModule(module).map((exported) => ({
    name: exported.name,
    symbol: exported.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported,
  }))
}

function namesWithin(node: Node): string[] {
  if (isBlock(node)) return []
  if (isIdentifier(node)) return [node.text]
  const names: string[] = []
  node.forEachChild((child) => void names.push(...namesWithin(child)))
  return names
}

function fromRoot(root: string, file: string): string {
  return relative(root, file).replaceAll('\\', '/')
}
