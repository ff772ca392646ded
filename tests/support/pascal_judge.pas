program pascal_judge;

{ Asks Free Pascal's own parser of sources, fcl-passrc, whether texts are well-formed.

  Standard input: for each text a line with its length in bytes, then the text. Standard output:
  for each text one line, which is empty if the parser takes it, and else says what it says. }

{$mode objfpc}{$H+}

uses
  SysUtils, Classes, PasTree, PScanner, PParser;

type
  { Takes every element that the parser makes, and finds none: names need not be declared. }
  TContainer = class(TPasTreeContainer)
  public
    function CreateElement(AClass: TPTreeElement; const AName: String; AParent: TPasElement;
      AVisibility: TPasMemberVisibility; const ASourceFilename: String;
      ASourceLinenumber: Integer): TPasElement; override;
    function FindElement(const AName: String): TPasElement; override;
  end;

function TContainer.CreateElement(AClass: TPTreeElement; const AName: String;
  AParent: TPasElement; AVisibility: TPasMemberVisibility; const ASourceFilename: String;
  ASourceLinenumber: Integer): TPasElement;
begin
  Result := AClass.Create(AName, AParent);
  Result.Visibility := AVisibility;
  Result.SourceFilename := ASourceFilename;
  Result.SourceLinenumber := ASourceLinenumber;
end;

function TContainer.FindElement(const AName: String): TPasElement;
begin
  Result := nil;
end;

function Verdict(const Text: String): String;
var
  Resolver: TStreamResolver;
  Container: TContainer;
  Scanner: TPascalScanner;
  Parser: TPasParser;
  Module: TPasModule;
begin
  Result := '';
  Resolver := TStreamResolver.Create;
  Resolver.OwnsStreams := True;
  Resolver.AddStream('text.pas', TStringStream.Create(Text));
  Container := TContainer.Create;
  Scanner := TPascalScanner.Create(Resolver);
  Scanner.SetCompilerMode('OBJFPC');
  Scanner.Options := Scanner.Options + [po_CAssignments, po_IgnoreUnknownResource];
  Scanner.CurrentBoolSwitches := Scanner.CurrentBoolSwitches + [bsGoto];
  Scanner.AddDefine('FPC');
  Parser := TPasParser.Create(Scanner, Resolver, Container);
  Module := nil;
  try
    Scanner.OpenFile('text.pas');
    Parser.ParseMain(Module);
  except
    on Problem: Exception do
      Result := Format('line %d: %s', [Scanner.CurRow, Problem.Message]);
  end;
  { Elements of a text that was refused may be inconsistent: they are not freed. }
  if (Result = '') and (Module <> nil) then
    Module.Release{$IFDEF CheckPasTreeRefCount}('CreateElement'){$ENDIF};
  FreeAndNil(Parser);
  FreeAndNil(Scanner);
  FreeAndNil(Container);
  FreeAndNil(Resolver);
  Result := StringReplace(Result, #10, ' ', [rfReplaceAll]);
end;

var
  Input_, Output_: THandleStream;
  Line, Text: String;
  Character: Char;
  Length_: Integer;

begin
  Input_ := THandleStream.Create(StdInputHandle);
  Output_ := THandleStream.Create(StdOutputHandle);
  repeat
    Line := '';
    while (Input_.Read(Character, 1) = 1) and (Character <> #10) do
      Line := Line + Character;
    if Line = '' then
      Break;
    Length_ := StrToInt(Line);
    SetLength(Text, Length_);
    if Length_ > 0 then
      Input_.ReadBuffer(Text[1], Length_);
    Line := Verdict(Text) + #10;
    Output_.WriteBuffer(Line[1], Length(Line));
  until False;
end.
